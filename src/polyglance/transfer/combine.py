"""Words of a new language as mixtures of words that a model knows."""

from collections.abc import Mapping, Sequence

import numpy as np

from polyglance.text.beginnings import closest
from polyglance.text.tokenizers.normalise import normalise
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.transfer.alignment import Alignment
from polyglance.transfer.lexicon import Pairs
from polyglance.transfer.neighbours import score_blocks
from polyglance.transfer.retrieval import target_hubness

Mixtures = dict[str, dict[str, float]]
"""New word → known word → weight; weights of a new word sum to 1."""

NEIGHBOURS, SHARPNESS = 5, 10.0
"""Of a new word's vector, how many known words count, and how much more the nearer ones."""


def dictionary_mixtures(pairs: Pairs, ranks: Mapping[str, int]) -> Mixtures:
    """Mixtures of a word's translations, weighed by 1 / (place in the pairs · rank).

    `ranks` are the known words with 1 for the most frequent: what a lexicon offers for a word
    is often a rare sense, which captions do not mean.

    >>> dictionary_mixtures([("hond", "hound"), ("hond", "dog")], {"dog": 2, "hound": 3})
    {'hond': {'hound': 0.571..., 'dog': 0.428...}}
    """
    found: dict[str, dict[str, float]] = {}
    for new, known in pairs:
        word = known if known in ranks else normalise(known)
        if word in ranks:
            own = found.setdefault(normalise(new), {})
            own.setdefault(word, 1.0 / ((len(own) + 1) * ranks[word]))
    return {word: _scaled(own) for word, own in found.items()}


def neighbour_mixtures(
    alignment: Alignment,
    source: WordVectors,
    target: WordVectors,
    words: Sequence[str],
    neighbours: int = NEIGHBOURS,
    sharpness: float = SHARPNESS,
) -> Mixtures:
    """Mixtures of the known words (`target`) nearest by CSLS to each aligned new word."""
    queries = alignment.apply(source.matrix[source.rows(words)])
    targets = alignment.target(target.matrix)
    hubness = target_hubness(targets, alignment.apply(source.matrix))
    found: Mixtures = {}
    for rows, scores in score_blocks(queries, targets):
        scores = 2 * scores - hubness
        best = np.argsort(-scores, axis=1)[:, :neighbours]
        for row, own in zip(range(rows.start, rows.stop), best, strict=True):
            values = scores[row - rows.start, own]
            weights = np.exp(sharpness * (values - values.max()))
            mixture = zip((target.words[i] for i in own), weights.tolist(), strict=True)
            found[words[row]] = _scaled(dict(mixture))
    return found


def spelling_mixtures(mixtures: Mixtures, words: Sequence[str]) -> Mixtures:
    """Mixtures of those of `words` that have none, from the word most like them."""
    ordered = sorted(mixtures)
    likeness = {word: closest(word, ordered) for word in words if word not in mixtures}
    return {word: mixtures[near] for word, near in likeness.items() if near is not None}


def _scaled(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()}
