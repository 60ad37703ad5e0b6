"""Forms of one word, by the beginning that they share: most languages inflect at the end."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from polyglance.text.tokenizers.normalise import normalise

SHORTEST_STEM = 3
"""Characters that the forms of a word share at least."""
SHORTEST_FORM = 4
"""Characters of a form: most shorter words are articles and prepositions, which have no forms."""
SHARE = 0.6
"""Share of a word that must be common."""
KEPT = 50_000
"""Words for which an index remembers the closest one."""


@dataclass(frozen=True)
class InflectionRule:
    """When two words are taken for forms of one; lengths are in characters."""

    shortest_form: int = SHORTEST_FORM
    """A word that is looked for must be this long."""
    shared_of_entry: float = SHARE
    """Share of the indexed word that must be common; of the word looked for it is `SHARE`."""
    longest_ending: int | None = None
    """What the word looked for may have behind the common beginning."""
    longest_rest: int | None = None
    """What the indexed word may have behind the common beginning."""
    rest_weight: float | None = None
    """What a character of that rest takes from the score, which is the length of the common
    beginning; words of equal score are then taken from the end of the alphabet. None: the rest
    only decides between common beginnings of one length."""

    def fits(self, form: int, entry: int, common: int) -> bool:
        """Whether a form and an indexed word have enough in common.

        Args:
            form: length of the word that is looked for.
            entry: length of the indexed word.
            common: length of their common beginning.
        """
        return (
            common >= max(SHORTEST_STEM, SHARE * form, self.shared_of_entry * entry)
            and (self.longest_ending is None or form - common <= self.longest_ending)
            and (self.longest_rest is None or entry - common <= self.longest_rest)
        )

    def score(self, common: int, rest: int) -> tuple[float, int]:
        """What the closest word has most of; the first number is at most `common`."""
        if self.rest_weight is None:
            return common, -rest
        return common - self.rest_weight * rest, 0


class InflectionIndex:
    """Words among which the one is found that another word is a likely form of.

    >>> index = InflectionIndex(["hand", "hund", "katze"])
    >>> index.closest("Hunden"), index.closest("hut")
    ('hund', None)
    """

    def __init__(self, words: Iterable[str], rule: InflectionRule | None = None) -> None:
        self.rule = rule or InflectionRule()
        self._words = frozenset(words)
        self._sorted = sorted(self._words)
        self._cached: Callable[[str], tuple[str, str | None]] = lru_cache(KEPT)(self._look_up)

    def __reduce__(self) -> tuple[type, tuple[frozenset[str], InflectionRule]]:
        return InflectionIndex, (self._words, self.rule)

    def closest(self, word: str) -> str | None:
        """The indexed word that shares the longest beginning, the shortest of several.

        `word` is normalised; indexed words are taken as they are.
        """
        return self._cached(word)[1]

    def find(self, word: str) -> str | None:
        """The word itself where it is indexed, as it is or normalised; else the closest."""
        if word in self._words:
            return word
        plain, close = self._cached(word)
        return plain if plain in self._words else close

    def _look_up(self, word: str) -> tuple[str, str | None]:
        plain = normalise(word)
        return plain, self._search(plain)

    def _search(self, word: str) -> str | None:
        """Outwards from the word's place: the common beginning only gets shorter."""
        if len(word) < self.rule.shortest_form:
            return None
        place = bisect_left(self._sorted, word)
        best: tuple[float, int] | None = None
        found: str | None = None
        for entries in (range(place - 1, -1, -1), range(place, len(self._sorted))):
            last_wins = self.rule.rest_weight is not None and entries.step > 0
            for entry in map(self._sorted.__getitem__, entries):
                common = common_prefix(word, entry)
                if common < SHORTEST_STEM or (best is not None and common < best[0]):
                    break
                if not self.rule.fits(len(word), len(entry), common):
                    continue
                score = self.rule.score(common, len(entry) - common)
                if best is None or score > best or (last_wins and score == best):
                    best, found = score, entry
        return found


def common_prefix(one: str, other: str) -> int:
    """Characters that both words begin with.

    >>> common_prefix("talked", "talks")
    4
    """
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
