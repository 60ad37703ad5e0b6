"""Afrikaans: no gender, no agreement, the verb second; attributive -e on some adjectives."""

import re

from polyglance.data.generated.messages import Mention
from polyglance.data.generated.realise import (
    Language,
    capitalise,
    entries,
    plural_verb,
    table,
    words,
)
from polyglance.data.generated.world import kind

NOUNS = table("""
man man mans; woman vrou vroue; girl meisie meisies; boy seun seuns; dog hond honde
cat kat katte; horse perd perde; bird voël voëls; fish vis visse; ball bal balle
car motor motors; boat boot bote; tree boom bome; house huis huise; bicycle fiets fietse
umbrella sambreel sambrele; chair stoel stoele; flower blom blomme; kite vlieër vlieërs
""")
NUMBERS = ("", "twee", "drie", "vier", "vyf", "verskeie")
COLOURS = entries("""
red rooi; blue blou; green groen; yellow geel; white wit; black swart; brown bruin
purple pers
""")
SIZES = {"big": "groot", "small": "klein"}
VERBS = entries("""
be is; run hardloop; sit sit; sleep slaap; jump spring; eat vreet; eat:person eet; swim swem
fly vlieg
""")


def phrase(mention: Mention, case: str) -> str:
    """Numeral or article, size, colour, noun."""
    person, colour = kind(mention.noun) == "person", COLOURS.get(mention.colour or "", "")
    article = "die" if mention.definite else "'n"
    return words(
        NUMBERS[mention.count - 1] or article,
        SIZES.get(mention.size or "", ""),
        "" if person else colour,
        NOUNS[mention.noun][mention.count > 1],
        f"in {colour}" if person and colour else "",
    )


def finish(text: str) -> str:
    """A sentence that begins with 'n has its capital on the second word."""
    article, rest = re.fullmatch(r"('n )?(.*)", text).groups("")  # type: ignore[union-attr]
    return article + capitalise(rest)


LANGUAGE = Language(
    phrase,
    plural_verb(VERBS),
    relations=entries("""
        left links van|aan die linkerkant van; right regs van|aan die regterkant van
        above bo; below onder; front voor; behind agter; next langs; on op|bo-op
        under onder
    """),
    places=entries("""
        meadow op 'n grasveld|op die platteland; beach op 'n sandige strand|by die see
        street in 'n straat|in die stad; snow in die sneeu|in 'n sneeubedekte landskap
        night onder 'n sterrehemel|in die nag; room in 'n kamer|binnenshuis
    """),
    templates={
        "statement": ("{subject} {verb}[ {relation}][ {place}].",),
        "fronted": ("{place} {verb} {subject}[ {relation}].",),
        "presence": ("daar is {subject}[ {relation}][ {place}].",),
    },
    finish=finish,
)
