"""Words of the same meaning, in one language or in two, from `lexicon.tsv.gz`."""

from collections.abc import Callable

from polyglance.evaluation.perturb.words import unspaced
from polyglance.text.lexicon import SharedSynsets, Synsets

SHORTEST, SHORTEST_UNSPACED = 3, 2
"""Letters, or characters: most shorter words are grammar, and what lexicons have for them (`in`,
the chemical element) is not."""
SIMILAR = 1 / 3
"""Share of both words' synsets that synonyms have in common at least."""


def synonyms(synsets: Synsets, fits: Callable[[str], bool]) -> Callable[[str], str | None]:
    """word → the synonym with most synsets in common, of those that fit."""
    shared = SharedSynsets(synsets, synsets)
    return lambda word: _best(word, shared, lambda other: other != word and fits(other), SIMILAR)


def translations(source: Synsets, target: Synsets) -> Callable[[str], str | None]:
    """word → the word of `target` with most synsets in common."""
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
