"""Changes of spelling: upper and lower case, and without diacritics."""

import unicodedata
from collections.abc import Callable, Mapping

UNMARKED = {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"}
"""Latin letters that Unicode does not decompose."""


def upper(word: str) -> str:
    """In upper case.

    >>> upper("Straße")
    'STRASSE'
    """
    return word.upper()


def lower(word: str) -> str:
    """In lower case, including German nouns and names."""
    return word.lower()


def title(word: str) -> str:
    """In title case, as phones do."""
    return word[:1].upper() + word[1:].lower()


def unmarked(word: str) -> str:
    """Without the diacritics of Latin letters, as on a keyboard that lacks them.

    Marks of other scripts are kept: without them, Hindi words become different ones, and Ukrainian
    й is a separate letter.

    >>> unmarked("Černý čaj für Søren й")
    'Cerny caj fur Soren й'
    """
    return "".join(map(_unmarked, unicodedata.normalize("NFC", word)))


def _unmarked(letter: str) -> str:
    if letter.lower() in UNMARKED:
        bare = UNMARKED[letter.lower()]
        return bare.capitalize() if letter.isupper() else bare
    if not unicodedata.name(letter, "").startswith("LATIN"):
        return letter
    return unicodedata.normalize("NFD", letter)[0]


SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "upper": upper,
    "lower": lower,
    "title": title,
    "unmarked": unmarked,
}
"""Kind of perturbation → function on words."""
