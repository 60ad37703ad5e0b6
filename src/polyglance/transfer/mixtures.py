"""Words of a new language as mixtures of words that a model has embeddings for."""

from collections.abc import Mapping, Sequence

import numpy as np

from polyglance.alignment.alignment import Alignment
from polyglance.alignment.neighbours import mean_similarity, score_blocks
from polyglance.text.dictionaries import Pairs
from polyglance.text.inflection import InflectionIndex
from polyglance.text.tokenizers.normalise import normalise
from polyglance.text.vectors.word_vectors import WordVectors

Mixtures = dict[str, dict[str, float]]
"""New word → known word → weight; weights of a new word sum to 1."""

NEIGHBOURS, SHARPNESS = 5, 10.0
"""Known words per mixture, and the inverse temperature of the softmax over their scores."""


def dictionary_mixtures(
    pairs: Pairs, ranks: Mapping[str, int], language: str | None = None, pivot: str | None = None
) -> Mixtures:
    """Mixtures of a word's translations, weighted by 1 / (position in the pairs · rank).

    `ranks` has the known words, 1 for the most frequent: lexicons often list rare senses, which
    captions do not use.

    >>> dictionary_mixtures([("hond", "hound"), ("hond", "dog")], {"dog": 2, "hound": 3})
    {'hond': {'hound': 0.571..., 'dog': 0.428...}}

    Args:
        pairs: (new word, known word), the likeliest translation of a new word first.
        ranks: of the known words, in lower case.
        language: of the new words, for lower-casing; None if unknown.
        pivot: of the known words, likewise.
    """
    found: dict[str, dict[str, float]] = {}
    for new, known in pairs:
        word = known if known in ranks else normalise(known, pivot)
        if word in ranks:
            own = found.setdefault(normalise(new, language), {})
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
    """Mixtures of the known words nearest to each aligned new word by CSLS.

    Args:
        alignment: the map from `source` to `target`.
        source: vectors of the new language.
        target: vectors of the known words.
        words: the new words, all in `source`.
        neighbours: known words per mixture.
        sharpness: inverse temperature of the softmax over their scores.
    """
    queries = alignment.apply(source.matrix[source.rows(words)])
    targets = alignment.target(target.matrix)
    hubness = mean_similarity(targets, alignment.apply(source.matrix))
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


def inflection_mixtures(mixtures: Mixtures, words: Sequence[str]) -> Mixtures:
    """For `words` without a mixture: the mixture of the word they are probably a form of."""
    index = InflectionIndex(mixtures)
    found = {word: index.find(word) for word in words if word not in mixtures}
    return {word: mixtures[known] for word, known in found.items() if known is not None}


def _scaled(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()}
