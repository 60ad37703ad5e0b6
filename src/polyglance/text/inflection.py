"""Inflections of a word, found by common prefix, since most languages inflect at the end."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from polyglance.text.tokenizers.normalise import normalise

SHORTEST_STEM = 3
"""Shortest common prefix of two inflections, in characters."""
SHORTEST_FORM = 4
"""Shortest form, in characters: most shorter words are uninflected, such as prepositions."""
SHARE = 0.6
"""Share of a word that the common prefix must cover."""
CACHED = 50_000
"""Size of an index's cache."""


@dataclass(frozen=True)
class InflectionRule:
    """When two words count as inflections of one; lengths are in characters."""

    shortest_form: int = SHORTEST_FORM
    """Shortest word that is looked up."""
    shared_of_entry: float = SHARE
    """Share of the indexed word that the common prefix must cover; for the query it is `SHARE`."""
    longest_ending: int | None = None
    """Longest ending of the query after the common prefix."""
    longest_rest: int | None = None
    """Longest ending of the indexed word after the common prefix."""
    rest_weight: float | None = None
    """Penalty per character of that ending; the score is the length of the common prefix minus the
    penalty, and the alphabetically last word wins ties. If None, the ending only breaks ties."""

    def fits(self, form: int, entry: int, common: int) -> bool:
        """Whether a query and an indexed word have enough in common.

        Args:
            form: length of the query.
            entry: length of the indexed word.
            common: length of the common prefix.
        """
        return (
            common >= max(SHORTEST_STEM, SHARE * form, self.shared_of_entry * entry)
            and (self.longest_ending is None or form - common <= self.longest_ending)
            and (self.longest_rest is None or entry - common <= self.longest_rest)
        )

    def score(self, common: int, rest: int) -> tuple[float, int]:
        """Score, higher is closer; its first component is at most `common`."""
        if self.rest_weight is None:
            return common, -rest
        return common - self.rest_weight * rest, 0


class InflectionIndex:
    """Finds, among indexed words, the one that a word is most likely an inflection of.

    >>> index = InflectionIndex(["hand", "hund", "katze"])
    >>> index.closest("Hunden"), index.closest("hut")
    ('hund', None)
    """

    def __init__(self, words: Iterable[str], rule: InflectionRule | None = None) -> None:
        self.rule = rule or InflectionRule()
        self._words = frozenset(words)
        self._sorted = sorted(self._words)
        self._cached: Callable[[str], tuple[str, str | None]] = lru_cache(CACHED)(self._look_up)

    def __reduce__(self) -> tuple[type, tuple[frozenset[str], InflectionRule]]:
        return InflectionIndex, (self._words, self.rule)

    def closest(self, word: str) -> str | None:
        """The indexed word with the longest common prefix, the shortest on ties.

        `word` is normalised; indexed words are not.
        """
        return self._cached(word)[1]

    def find(self, word: str) -> str | None:
        """The word itself if it is indexed, unchanged or normalised; otherwise the closest."""
        if word in self._words:
            return word
        plain, close = self._cached(word)
        return plain if plain in self._words else close

    def _look_up(self, word: str) -> tuple[str, str | None]:
        plain = normalise(word)
        return plain, self._search(plain)

    def _search(self, word: str) -> str | None:
        """Search outwards from the insertion point, as common prefixes only get shorter."""
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
    """Length of the common prefix.

    >>> common_prefix("talked", "talks")
    4
    """
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
