"""Word pairs with identical spelling, and rows of word pairs."""

from collections.abc import Sequence

import numpy as np

from polyglance.text.dictionaries import Pairs
from polyglance.text.tokenizers.normalise import normalise
from polyglance.text.vectors.word_vectors import WordVectors

LARGEST_TEST_SHARE = 0.2


def identical_pairs(source: WordVectors, target: WordVectors, shortest: int = 2) -> Pairs:
    """Words with the same spelling in both languages: names, numbers, loanwords.

    >>> both = [WordVectors(words, np.eye(2)) for words in (["a", "taxi"], ["taxi", "a"])]
    >>> identical_pairs(*both)
    [('taxi', 'taxi')]

    Args:
        source: vectors of the source language.
        target: vectors of the target language.
        shortest: minimum length of a word, in characters.
    """
    return [(word, word) for word in source.words if len(word) >= shortest and word in target]


def paired_rows(
    pairs: Sequence[tuple[str, str]], source: WordVectors, target: WordVectors
) -> np.ndarray:
    """Distinct rows [p, 2] of the pairs with both vectors, by source row (most frequent first).

    Args:
        pairs: of a source and a target word; words without a vector are also looked up normalised.
        source: vectors of the source language.
        target: vectors of the target language.
    """
    columns = [
        _rows([pair[side] for pair in pairs], vectors)
        for side, vectors in enumerate((source, target))
    ]
    rows = np.stack(columns, axis=1) if pairs else np.empty((0, 2), np.int64)
    rows = rows[(rows >= 0).all(axis=1)]
    _, first = np.unique(rows, axis=0, return_index=True)
    rows = rows[np.sort(first)]
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _rows(words: Sequence[str], vectors: WordVectors) -> np.ndarray:
    index = vectors.index
    return np.array(
        [index[w] if w in index else index.get(normalise(w), -1) for w in words], np.int64
    )


def split_rows(
    rows: np.ndarray, train: int | None = 5000, test: int = 1500, seed: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split pairs [p, 2] into those of the first `train` source words and of the next `test`.

    At most a fifth of the words is held out.

    Args:
        rows: word pairs [p, 2], frequent source words first.
        train: number of source words to train on; None for all that are not held out.
        test: number of source words to hold out.
        seed: of a random split; None to train on the most frequent words, as with MUSE's
            dictionaries.
    """
    words = np.unique(rows[:, 0])
    if seed is not None:
        words = np.random.default_rng(seed).permutation(words)
    test = min(test, int(len(words) * LARGEST_TEST_SHARE))
    train = len(words) - test if train is None else min(train, len(words) - test)
    parts = words[:train], words[train : train + test]
    learned, held_out = (rows[np.isin(rows[:, 0], part)] for part in parts)
    return learned, held_out


def best_rows(rows: np.ndarray, most: int) -> np.ndarray:
    """The first `most` pairs of every source word; rows [p, 2] are sorted by source word."""
    words, starts = np.unique(rows[:, 0], return_index=True)
    place = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    return rows[place < most] if len(words) else rows
