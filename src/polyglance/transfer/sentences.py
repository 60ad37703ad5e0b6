"""Which known words a new word stands for, from sentences in both languages: IBM model 1."""

from collections import Counter
from collections.abc import Collection

import numpy as np

from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers.base import tokenize_many
from polyglance.transfer.combine import Mixtures

ITERATIONS, LEAST, MOST, SHARE = 5, 2, 5, 0.1
"""Of EM; occurrences of a word; translations of it at most, each a share of the best's weight."""


def sentence_mixtures(
    source: CaptionTable, target: CaptionTable, known: Collection[str], tokenizer: str = "words"
) -> Mixtures:
    """Mixtures of `known` target words for source words, weighed by how likely they translate it.

    Sentences that share their `photo` number are translations. Probabilities t(target | source)
    are those of IBM model 1 (Brown et al. 1993) after a few steps of EM from equal ones; every
    sentence also has an empty source word, which takes what none of the others explains.
    """
    common = np.intersect1d(source.image, target.image)
    if not len(common):
        raise PolyglanceError("the two languages share no sentences to learn a dictionary from")
    place = {int(number): index for index, number in enumerate(common)}
    words, groups = _grouped(source, place, tokenizer)
    others, sentences = _grouped(target, place, tokenizer, known)
    rows, columns, cells, units = _cells(groups, sentences)
    codes, parameter = np.unique(rows * max(len(others), 1) + columns, return_inverse=True)
    owner = codes // max(len(others), 1)
    table = np.ones(len(codes))
    for _ in range(ITERATIONS if len(codes) else 0):
        chance = table[parameter]
        chance /= np.bincount(cells, chance, units)[cells]
        counted = np.bincount(parameter, chance, len(codes))
        table = counted / np.bincount(owner, counted)[owner]
    return _best(words, others, owner, codes % max(len(others), 1), table)


def _grouped(
    table: CaptionTable, place: dict[int, int], tokenizer: str, known: Collection[str] | None = None
) -> tuple[list[str], list[np.ndarray]]:
    """Words that count, and the distinct ones of every common photograph's captions."""
    found: list[set[str]] = [set() for _ in place]
    tokens = tokenize_many(table.texts, table.languages, tokenizer)
    for number, words in zip(table.image.tolist(), tokens, strict=True):
        if number in place:
            found[place[number]].update(words)
    counts = Counter(word for group in found for word in group)
    kept = [w for w, n in counts.items() if n >= LEAST and (known is None or w in known)]
    ids = {word: index for index, word in enumerate(sorted(kept))}
    groups = [np.array(sorted(ids[w] for w in group if w in ids), np.int64) for group in found]
    return list(ids), groups


def _cells(
    groups: list[np.ndarray], sentences: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Source word, target word and target occurrence of every pair that shares a sentence.

    Source word 0 is the empty one, others are one more than their number; with the number of
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
) -> Mixtures:
    """The likeliest translations of every word but the empty one, their weights summing to 1."""
    order = np.lexsort((-table, owner))
    _, starts = np.unique(owner[order], return_index=True)
    found: Mixtures = {}
    for group in np.split(order, starts[1:]) if len(order) else ():
        own = group[:MOST]
        if owner[own[0]] == 0:
            continue
        own = own[table[own] >= SHARE * table[own[0]]]
        weights = table[own] / table[own].sum()
        named = [others[i] for i in column[own]]
        found[words[owner[own[0]] - 1]] = dict(zip(named, weights.tolist(), strict=True))
    return found
