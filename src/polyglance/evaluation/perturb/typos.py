"""Typos: letters swapped, dropped, doubled or replaced by a neighbour."""

import unicodedata
from collections.abc import Sequence
from random import Random

import regex

from polyglance.evaluation.perturb.words import unspaced

SHORTEST = 3
"""Shortest word, in letters; a typo in a shorter one makes it unrecognisable."""

KEYBOARDS = (
    ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    ("йцукенгшщзхї", "фівапролджє", "ячсмитьбю"),
    ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),
)
_CLUSTER = regex.compile(r"\X")
_SCRIPTS = regex.compile(r"(?P<han>\p{Han})|(?P<kana>[\p{Hiragana}\p{Katakana}])")


def _neighbours() -> dict[str, list[str]]:
    """Keys adjacent to each letter, in its row and those above and below."""
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


def typo(word: str, rng: Random, letters: Sequence[str] = ()) -> str | None:
    """`word` with one typo; None for words of fewer than three letters.

    A letter's neighbours are those on the keyboard (QWERTY, Ukrainian, Arabic), the base of an
    accented letter, or else any of `letters` in its script. In Chinese and Japanese, a typo is
    another character of `letters`, in words of any length.

    >>> [typo("dog", Random(n)) for n in range(4)]
    ['doog', 'ddog', 'ddog', 'odg']

    Args:
        word: to change.
        rng: of the random choices.
        letters: of the language.
    """
    clusters = _CLUSTER.findall(word)
    place = rng.randrange(len(clusters))
    if unspaced(word):
        return _replaced(clusters, place, rng, letters)
    if len(clusters) < SHORTEST:
        return None
    typos = [_swapped, _dropped, _doubled, _replaced]
    rng.shuffle(typos)
    for slip in typos:
        new = slip(clusters, place, rng, letters)
        if new is not None and new != word:
            return new
    return None


def _swapped(parts: list[str], place: int, rng: Random, letters: Sequence[str]) -> str | None:
    first = min(place, len(parts) - 2)
    return "".join([*parts[:first], parts[first + 1], parts[first], *parts[first + 2 :]])


def _dropped(parts: list[str], place: int, rng: Random, letters: Sequence[str]) -> str | None:
    return "".join(parts[:place] + parts[place + 1 :])


def _doubled(parts: list[str], place: int, rng: Random, letters: Sequence[str]) -> str | None:
    return "".join([*parts[:place], parts[place][0], *parts[place:]])


def _replaced(parts: list[str], place: int, rng: Random, letters: Sequence[str]) -> str | None:
    letter, marks = parts[place][0], parts[place][1:]
    near = _near(letter.lower(), letters)
    if not near:
        return None
    new = rng.choice(near)
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
    """The script: Han, kana, or the first word of the letter's Unicode name."""
    match = _SCRIPTS.match(letter)
    return str(match.lastgroup) if match else unicodedata.name(letter, "?").split()[0]
