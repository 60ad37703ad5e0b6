"""German: three genders, strong and weak adjectives, the dative after place prepositions."""

from polyglance.data.generated.messages import Mention
from polyglance.data.generated.realise import Language, entries, plural_verb, table, words
from polyglance.data.generated.world import kind

NOUNS = table("""
man m Mann Männer; woman f Frau Frauen; girl n Mädchen Mädchen; boy m Junge Jungen Jungen
dog m Hund Hunde; cat f Katze Katzen; horse n Pferd Pferde; bird m Vogel Vögel
fish m Fisch Fische; ball m Ball Bälle; car n Auto Autos; boat n Boot Boote
tree m Baum Bäume; house n Haus Häuser; bicycle n Fahrrad Fahrräder
umbrella m Regenschirm Regenschirme; chair m Stuhl Stühle; flower f Blume Blumen
kite m Drachen Drachen
""")
"""gender, singular, plural, and the dative singular where it differs"""

NUMBERS = ("", "zwei", "drei", "vier", "fünf", "mehrere")
ADJECTIVES = entries("""
red rot; blue blau; green grün; yellow gelb; white weiß; black schwarz; brown braun
purple violett; big groß; small klein
""")
INDEFINITE = {"nom": {"m": "ein", "f": "eine", "n": "ein"}, "dat": {"m": "einem", "f": "einer"}}
DEFINITE = {"nom": {"m": "der", "f": "die", "n": "das"}, "dat": {"m": "dem", "f": "der"}}
STRONG = {"m": "er", "f": "e", "n": "es"}
VERBS = entries("""
be ist/sind|befindet sich/befinden sich; run läuft/laufen|rennt/rennen; sit sitzt/sitzen
sleep schläft/schlafen; jump springt/springen; eat frisst/fressen; eat:person isst/essen
swim schwimmt/schwimmen; fly fliegt/fliegen
""")


def phrase(mention: Mention, case: str) -> str:
    """Two big red dogs in the nominative or dative, a man in Rot."""
    gender, singular, plural, *oblique = NOUNS[mention.noun]
    if mention.count > 1:
        number, noun = NUMBERS[mention.count - 1], plural
        ending = "en" if case == "dat" else "e"
        if case == "dat":
            number += "n" if number.endswith("e") else ""
            noun += "" if noun[-1] in "ns" else "n"
    else:
        articles = DEFINITE if mention.definite else INDEFINITE
        number = articles[case].get(gender) or articles[case]["m"]
        noun = oblique[0] if oblique and case == "dat" else singular
        ending = "en" if case == "dat" else "e" if mention.definite else STRONG[gender]
    person = kind(mention.noun) == "person"
    names = (mention.size, None if person else mention.colour)
    clothes = f"in {ADJECTIVES[mention.colour].title()}" if person and mention.colour else ""
    return words(number, *(ADJECTIVES[name] + ending for name in names if name), noun, clothes)


def join(preposition: str, noun_phrase: str) -> str:
    """von dem becomes vom."""
    return words(preposition, noun_phrase).replace("von dem ", "vom ")


LANGUAGE = Language(
    phrase,
    plural_verb(VERBS),
    relations=entries("""
        left links von:dat|auf der linken Seite von:dat
        right rechts von:dat|auf der rechten Seite von:dat; above über:dat; below unter:dat
        front vor:dat; behind hinter:dat; next neben:dat; on auf:dat|oben auf:dat
        under unter:dat
    """),
    places=entries("""
        meadow auf einer Wiese|auf dem Land; beach an einem Strand|am Meer
        street auf einer Straße|in der Stadt
        snow im Schnee|in einer verschneiten Landschaft
        night unter einem Sternenhimmel|bei Nacht; room in einem Zimmer|in einem Raum
    """),
    templates={
        "statement": ("{subject} {verb}[ {place}][ {relation}].",),
        "fronted": ("{place} {verb} {subject}[ {relation}].",),
        "presence": ("{relation} {verb} {subject}[ {place}].", "{place} {verb} {subject}."),
    },
    join=join,
)
