"""English."""

from polyglance.data.generated.messages import Mention
from polyglance.data.generated.realise import Language, entries, plural_verb, table, words
from polyglance.data.generated.world import kind

NOUNS = table("""
man man men; woman woman women; girl girl girls; boy boy boys; dog dog dogs; cat cat cats
horse horse horses; bird bird birds; fish fish fish; ball ball balls; car car cars
boat boat boats; tree tree trees; house house houses; bicycle bicycle bicycles
umbrella umbrella umbrellas; chair chair chairs; flower flower flowers; kite kite kites
""")
NUMBERS = ("", "two", "three", "four", "five", "several")
VERBS = entries("""
be is/are|can be seen; run is running/are running; sit is sitting/are sitting
sleep is sleeping/are sleeping|is asleep/are asleep; jump is jumping/are jumping
eat is eating/are eating; swim is swimming/are swimming; fly is flying/are flying
""")


def phrase(mention: Mention, case: str) -> str:
    """Numeral or article, size, colour, noun: two big red dogs, a man in red."""
    person = kind(mention.noun) == "person"
    colour = mention.colour or ""
    noun = NOUNS[mention.noun][mention.count > 1]
    core = words(mention.size or "", "" if person else colour, noun)
    article = "the" if mention.definite else "an" if core[0] in "aeiou" else "a"
    number = NUMBERS[mention.count - 1] or article
    return words(number, core, f"in {colour}" if person and colour else "")


LANGUAGE = Language(
    phrase,
    plural_verb(VERBS),
    relations=entries("""
        left to the left of|on the left of; right to the right of|on the right of; above above
        below below; front in front of; behind behind; next next to|beside; on on|on top of
        under under|underneath
    """),
    places=entries("""
        meadow in a meadow|in the countryside; beach on a beach|at the seaside
        street on a street|in the city; snow in the snow|in a snowy landscape
        night under a starry sky|at night; room in a room|indoors
    """),
    templates={
        "statement": ("{subject} {verb}[ {relation}][ {place}].",),
        "fronted": (
            "{place}, {subject} {doing}[ {relation}].",
            "{place}, {subject} {verb} {relation}.",
            "{place}, there {be} {subject}.",
        ),
        "presence": ("there {be} {subject}[ {relation}][ {place}].",),
    },
    extra=lambda message: {"be": "is" if message.subject.count == 1 else "are"},
)
