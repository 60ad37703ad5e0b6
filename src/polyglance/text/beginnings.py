"""Words that begin alike: inflections of one word, mostly, in languages that inflect at the end."""

from bisect import bisect_left
from collections.abc import Sequence

SHARED, SHORTEST_FORM = 0.6, 4
"""The share of both words that inflections have in common at least; characters of what may be
one: shorter words that are not known are mostly articles and prepositions."""


def closest(word: str, ordered: Sequence[str]) -> str | None:
    """Of sorted words, the one that shares the longest beginning with `word`, the shortest first.

    It must be `SHARED` of both words, which is three characters or more: inflections, not
    strangers.

    >>> closest("hunden", ["hand", "hund", "katze"])
    'hund'
    """
    if len(word) < SHORTEST_FORM:
        return None
    place = bisect_left(ordered, word)
    best: tuple[int, int, str] | None = None
    for step in (-1, 1):
        at = place - 1 if step < 0 else place
        while 0 <= at < len(ordered):
            shared = common_beginning(word, ordered[at])
            if shared < SHARED * len(word) or (best is not None and shared < best[0]):
                break
            fits = shared >= SHARED * max(len(word), len(ordered[at]))
            candidate = (shared, -len(ordered[at]), ordered[at])
            if fits and (best is None or candidate[:2] > best[:2]):
                best = candidate
            at += step
    return None if best is None else best[2]


def common_beginning(one: str, other: str) -> int:
    """Characters that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
