"""A slip of the finger in a word: letters swapped, dropped, doubled or taken for a neighbour."""

import unicodedata
from collections.abc import Sequence
from random import Random

import regex

from polyglance.evaluation.perturb.words import unspaced

SHORTEST = 3
"""Letters that a word must have; a slip in a shorter one leaves nothing to recognise."""

KEYBOARDS = (
    ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    ("йцукенгшщзхї", "фівапролджє", "ячсмитьбю"),
    ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),
)
_CLUSTER = regex.compile(r"\X")
_SCRIPTS = regex.compile(r"(?P<han>\p{Han})|(?P<kana>[\p{Hiragana}\p{Katakana}])")


def _neighbours() -> dict[str, list[str]]:
    """Keys beside each letter, in its row and in those above and below."""
    found: dict[str, list[str]] = {}
    for rows in KEYBOARDS:
        for y, row in enumerate(rows):
            for x, letter in enumerate(row):
                near = [
                    (y, x - 1),
                    (y, x + 1),
                    (y - 1, x),
                    (y - 1, x + 1),
                    (y + 1, x - 1),
                    (y + 1, x),
                ]
                found[letter] = [
                    rows[j][i] for j, i in near if 0 <= j < len(rows) and 0 <= i < len(rows[j])
                ]
    return found


NEIGHBOURS = _neighbours()


def typo(word: str, chance: Random, letters: Sequence[str] = ()) -> str | None:
    """`word` with one slip; None for words of fewer than three letters.

    A letter's neighbours are those of the keyboard (QWERTY, Ukrainian, Arabic), the bare letter
    of an accented one, else any of `letters` in its script. In Chinese and Japanese a typo is
    another character of `letters`, in words of any length.

    >>> [typo("dog", Random(n)) for n in range(4)]
    ['doog', 'ddog', 'ddog', 'odg']

    Args:
        word: to change.
        chance: chooses the slip and its place.
        letters: of the language.
    """
    clusters = _CLUSTER.findall(word)
    place = chance.randrange(len(clusters))
    if unspaced(word):
        return _replaced(clusters, place, chance, letters)
    if len(clusters) < SHORTEST:
        return None
    slips = [_swapped, _dropped, _doubled, _replaced]
    chance.shuffle(slips)
    for slip in slips:
        new = slip(clusters, place, chance, letters)
        if new is not None and new != word:
            return new
    return None


def _swapped(parts: list[str], place: int, chance: Random, letters: Sequence[str]) -> str | None:
    first = min(place, len(parts) - 2)
    return "".join([*parts[:first], parts[first + 1], parts[first], *parts[first + 2 :]])


def _dropped(parts: list[str], place: int, chance: Random, letters: Sequence[str]) -> str | None:
    return "".join(parts[:place] + parts[place + 1 :])


def _doubled(parts: list[str], place: int, chance: Random, letters: Sequence[str]) -> str | None:
    return "".join([*parts[:place], parts[place][0], *parts[place:]])


def _replaced(parts: list[str], place: int, chance: Random, letters: Sequence[str]) -> str | None:
    letter, marks = parts[place][0], parts[place][1:]
    near = _near(letter.lower(), letters)
    if not near:
        return None
    new = chance.choice(near)
    new = new.upper() if letter.isupper() else new
    return "".join([*parts[:place], new + marks, *parts[place + 1 :]])


def _near(letter: str, letters: Sequence[str]) -> list[str]:
    if letter in NEIGHBOURS:
        return NEIGHBOURS[letter]
    bare = unicodedata.normalize("NFD", letter)[0]
    if bare != letter and bare in NEIGHBOURS:
        return [bare]
    own = _script(letter)
    return [other for other in letters if other != letter and _script(other) == own]


def _script(letter: str) -> str:
    """Han, kana, or the first word of the letter's Unicode name, which is its script."""
    match = _SCRIPTS.match(letter)
    return str(match.lastgroup) if match else unicodedata.name(letter, "?").split()[0]
