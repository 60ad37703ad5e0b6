"""Learns word translations from parallel sentences with IBM model 1."""

from collections.abc import Collection

import numpy as np

from polyglance.alignment.captions import group_words
from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError

ITERATIONS = 5
"""Iterations of EM."""
LEAST = 2
"""Minimum number of images with a word."""
MOST, SHARE = 5, 0.1
"""Most translations of a word, and their minimum weight relative to the best one."""

Translations = dict[str, dict[str, float]]
"""Source word → target word → weight; the weights of a source word sum to 1."""


def sentence_translations(
    source: CaptionTable, target: CaptionTable, known: Collection[str], tokenizer: str = "words"
) -> Translations:
    """Translations of source words, weighted by their probability t(target | source).

    The probabilities are those of IBM model 1 (Brown et al. 1993, §4.1) after `ITERATIONS` of EM
    from a uniform start; every sentence also has an empty source word, for target words without a
    counterpart.

    Args:
        source: sentences of the source language.
        target: sentences of the target language; those with the same `image` are translations.
        known: target words to consider.
        tokenizer: name of the tokenizer.
    """
    common = np.intersect1d(source.image, target.image)
    if not len(common):
        raise PolyglanceError(
            "the two languages have no common sentence to learn a dictionary from"
        )
    words, groups = group_words(source, common, LEAST, tokenizer)
    others, sentences = group_words(target, common, LEAST, tokenizer, known)
    rows, columns, cells, units = _cells(groups, sentences)
    keys, parameter = np.unique(rows * max(len(others), 1) + columns, return_inverse=True)
    owner = keys // max(len(others), 1)
    table = np.ones(len(keys))
    for _ in range(ITERATIONS if len(keys) else 0):
        expected = table[parameter]
        expected /= np.bincount(cells, expected, units)[cells]
        counted = np.bincount(parameter, expected, len(keys))
        table = counted / np.bincount(owner, counted)[owner]
    return _best(words, others, owner, keys % max(len(others), 1), table)


def _cells(
    groups: list[np.ndarray], sentences: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Source word, target word and target occurrence of every pair that shares a sentence.

    Source word 0 is the empty one, others are their id plus one. The last value is the number of
    target occurrences.
    """
    rows, columns, cells = [], [], []
    units = 0
    for group, sentence in zip(groups, sentences, strict=True):
        with_empty = np.concatenate([[0], group + 1])
        rows.append(np.tile(with_empty, len(sentence)))
        columns.append(np.repeat(sentence, len(with_empty)))
        cells.append(np.repeat(units + np.arange(len(sentence)), len(with_empty)))
        units += len(sentence)
    parts = (np.concatenate(part).astype(np.int64) for part in (rows, columns, cells))
    first, second, third = parts
    return first, second, third, units


def _best(
    words: list[str], others: list[str], owner: np.ndarray, column: np.ndarray, table: np.ndarray
) -> Translations:
    """The most probable translations of each word except the empty one, with normalised weights."""
    order = np.lexsort((-table, owner))
    _, starts = np.unique(owner[order], return_index=True)
    found: Translations = {}
    for group in np.split(order, starts[1:]) if len(order) else ():
        own = group[:MOST]
        if owner[own[0]] == 0:
            continue
        own = own[table[own] >= SHARE * table[own[0]]]
        weights = table[own] / table[own].sum()
        named = [others[i] for i in column[own]]
        found[words[owner[own[0]] - 1]] = dict(zip(named, weights.tolist(), strict=True))
    return found
