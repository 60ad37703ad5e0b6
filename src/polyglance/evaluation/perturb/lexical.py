"""Synonyms and translations from a lexicon."""

from collections.abc import Callable

from polyglance.evaluation.perturb.words import unspaced
from polyglance.text.lexicon import SharedSynsets, Synsets

SHORTEST, SHORTEST_UNSPACED = 3, 2
"""Shortest words, in letters: most shorter ones are function words, for which lexicons have other
meanings (`in`, the chemical element)."""
SIMILAR = 1 / 3
"""Minimum Jaccard index of the synsets of synonyms."""


def synonyms(synsets: Synsets, fits: Callable[[str], bool]) -> Callable[[str], str | None]:
    """word → the most similar synonym that fits."""
    shared = SharedSynsets(synsets, synsets)
    return lambda word: _best(word, shared, lambda other: other != word and fits(other), SIMILAR)


def translations(source: Synsets, target: Synsets) -> Callable[[str], str | None]:
    """word → the most similar word of `target`."""
    shared = SharedSynsets(source, target)
    return lambda word: _best(word, shared, lambda _: True, 0.0)


def _best(
    word: str, shared: SharedSynsets, fits: Callable[[str], bool], least: float
) -> str | None:
    if len(word) < (SHORTEST_UNSPACED if unspaced(word) else SHORTEST):
        return None
    similar = shared.similarities(word)
    found = [other for other in similar if similar[other] >= least and fits(other)]
    return min(found, key=lambda other: (-similar[other], other), default=None)
