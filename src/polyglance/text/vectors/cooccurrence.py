"""Word vectors from co-occurrence in captions: PPMI and a truncated SVD.

Trained on a few thousand captions per language, they align across languages far better than
skip-gram vectors, because captions describe the same scenes (docs/transfer.md).
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.corpus import count_keys
from polyglance.text.vectors.word_vectors import WordVectors

SMOOTHING = 0.75
"""Exponent of context counts, as in word2vec (Levy et al. 2015, §3.2)."""
ITERATIONS = 4


def cooccurrence_vectors(
    sentences: Sequence[Sequence[str]], dim: int = 300, least: int = 3, most: int = 20_000
) -> WordVectors:
    """Vectors [n, dim] of the words of sentences.

    The left singular vectors, times the root of the singular values, of the positive pointwise
    mutual information of words that share a sentence. Deterministic.

    Args:
        sentences: the words of each.
        dim: dimension of the vectors.
        least: minimum count of a word.
        most: largest vocabulary; the most frequent words are kept.
    """
    counts = Counter(word for words in sentences for word in words)
    kept = sorted((w for w, n in counts.items() if n >= least), key=lambda w: (-counts[w], w))
    words = kept[:most]
    if not words:
        raise PolyglanceError(f"no word occurs {least} times in {len(sentences)} sentences")
    ids = {word: index for index, word in enumerate(words)}
    codes, times = _pairs(sentences, ids)
    if not len(codes):
        raise PolyglanceError("no two words share a sentence")
    rows, columns, values = _ppmi(codes, times, len(words))
    place = torch.from_numpy(np.stack([rows, columns]))
    size = (len(words), len(words))
    matrix = torch.sparse_coo_tensor(
        place, torch.from_numpy(values), size, check_invariants=True
    ).coalesce()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        wanted = min(dim, len(words))
        left, strength, _ = torch.svd_lowrank(
            matrix, min(len(words), wanted + wanted // 10 + 1), ITERATIONS
        )
    found = (left[:, :wanted] * strength[:wanted].sqrt()).numpy()
    return WordVectors(words, np.pad(found, ((0, 0), (0, dim - wanted))).astype(np.float32))


def _pairs(
    sentences: Sequence[Sequence[str]], ids: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Codes i·n + j of distinct words that share a sentence, sorted, and their counts."""

    def codes(words: Sequence[str]) -> np.ndarray:
        group = np.unique(np.array([ids[word] for word in words if word in ids], np.int64))
        one, other = (part.ravel() for part in np.meshgrid(group, group))
        return (one * len(ids) + other)[one != other]

    return count_keys(map(codes, sentences))


def _ppmi(
    codes: np.ndarray, counts: np.ndarray, words: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of positive log p(i, j) / (p(i) · p(j)), with smoothed contexts."""
    rows, columns = np.divmod(codes, words)
    total = np.bincount(rows, counts, words)
    context = total**SMOOTHING
    context /= context.sum()
    values = np.log(counts / (total[rows] * context[columns])).astype(np.float32)
    keep = values > 0
    return rows[keep], columns[keep], values[keep]
