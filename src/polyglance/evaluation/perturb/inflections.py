"""Inflections of words, found in texts without a grammar.

Two words count as inflections of one if they differ in endings of at most three letters, and this
pair of endings distinguishes at least one percent of the language's words. This finds -s, -ed and
-ing in English, and case endings in Czech. Some pairs are unrelated (`her`, `hers` and `herd`),
internal changes (`man`, `men`) are missed, and languages without endings have none: good enough to
test models, but not a morphology.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations

from polyglance.text.inflection import SHORTEST_STEM, common_prefix

LONGEST_ENDING = 3
FREQUENT = 5
"""Minimum count of a word, to exclude misspellings."""
SHARE = 0.01

Endings = tuple[str, str]


def inflections(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """word → its other inflections, by the longest stem that has any.

    >>> counts = dict.fromkeys(["walk", "walks", "talk", "talks", "talked", "sea"], 9)
    >>> inflections(counts)["talk"]
    ['talked', 'talks']
    """
    known = {word for word, n in counts.items() if n >= FREQUENT and len(word) >= SHORTEST_STEM}
    stems: dict[str, set[str]] = defaultdict(set)
    for word in known:
        for cut in _cuts(word):
            stems[word[:cut]].add(word[cut:])
    seen = Counter(pair for endings in stems.values() for pair in _pairs(endings))
    usual = {pair for pair, n in seen.items() if n >= SHARE * len(known)}
    found = {word: _forms(word, stems, usual) for word in counts}
    return {word: forms for word, forms in found.items() if forms}


def _cuts(word: str) -> range:
    """Possible stem lengths, the longest first."""
    return range(len(word), max(SHORTEST_STEM, len(word) - LONGEST_ENDING) - 1, -1)


def _pairs(endings: set[str]) -> list[Endings]:
    """Pairs with different first letters; a common one would belong to the stem."""
    pairs = combinations(sorted(endings), 2)
    return [(a, b) for a, b in pairs if not common_prefix(a, b)]


def _forms(word: str, stems: Mapping[str, set[str]], usual: set[Endings]) -> list[str]:
    for cut in _cuts(word):
        stem, own = word[:cut], word[cut:]
        endings = sorted(stems.get(stem, ()))
        forms = [stem + e for e in endings if (min(own, e), max(own, e)) in usual and e != own]
        if forms:
            return forms
    return []
