"""Words in other letters: capital ones, small ones, without diacritics."""

import unicodedata
from collections.abc import Callable, Mapping

UNMARKED = {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"}
"""Latin letters that Unicode does not take apart."""


def upper(word: str) -> str:
    """In capital letters.

    >>> upper("Straße")
    'STRASSE'
    """
    return word.upper()


def lower(word: str) -> str:
    """In small letters, German nouns and names too."""
    return word.lower()


def title(word: str) -> str:
    """With a capital letter before small ones, as phones write."""
    return word[:1].upper() + word[1:].lower()


def unmarked(word: str) -> str:
    """Without the diacritics of Latin letters, as on a keyboard that lacks them.

    Marks of other scripts stay: without them a word of Hindi is another word, and й of Ukrainian
    is a letter of its own.

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
"""Kind of perturbation → what it makes of a word."""
