"""Grammar shared by Czech and Russian: eight forms per noun, and numerals that govern the case."""

from collections.abc import Callable

from polyglance.data.generated.messages import Mention
from polyglance.data.generated.realise import Table, words
from polyglance.data.generated.world import kind

CASES = ("nom", "gen", "ins", "loc")

Adjective = Callable[[str, str, str, bool], str]
"""(name, gender, case, plural) → form"""


def slavic_phrase(
    nouns: Table,
    numerals: Callable[[int, str, str], str],
    adjective: Adjective,
    paucal: Callable[[str], tuple[str, int]],
    clothes: Callable[[str], str],
) -> Callable[[Mention, str], str]:
    """A noun-phrase function.

    `nouns` has the gender, four cases in the singular and four in the plural, and finally the form
    after 2 to 4 if it is a separate one. `paucal(gender)` returns the case of plural adjectives and
    the index of the noun's form after 2 to 4 in the nominative; from five on, both are in the
    genitive plural.
    """

    def phrase(mention: Mention, case: str) -> str:
        gender, *forms = nouns[mention.noun]
        many, adjective_case = mention.count > 1, case
        number = CASES.index(case) + 4 * many
        if case == "nom" and mention.count > 4:
            adjective_case, number = "gen", 5
        elif case == "nom" and many:
            adjective_case, number = paucal(gender)
            number = 8 if len(forms) > 8 else number
        person, colour = kind(mention.noun) == "person", mention.colour
        names = (mention.size, None if person else colour)
        return words(
            numerals(mention.count, gender, case) if many else "",
            *(adjective(name, gender, adjective_case, many) for name in names if name),
            forms[number],
            clothes(colour) if person and colour else "",
        )

    return phrase
