"""Exact search of the k nearest vectors by inner product, in blocks of scores."""

from collections.abc import Callable, Iterator

import numpy as np

SCORES_BYTES = 1 << 28
"""Largest block of scores in memory: a quarter GiB."""
_FOLD = 128

Advance = Callable[[int], None]


def nearest(
    queries: np.ndarray, pool: np.ndarray, k: int, scores_bytes: int = SCORES_BYTES
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield (rows of queries, scores [c, k], indices in the pool [c, k]), unordered within k.

    Args:
        queries: [n, d].
        pool: [m, d], of the queries' dtype.
        k: neighbours per query, at most m.
        scores_bytes: memory for a block of scores.
    """
    k = min(k, len(pool))
    for rows, scores in score_blocks(queries, pool, scores_bytes):
        values, places = top_k(scores, k)
        yield rows, values, places


def score_blocks(
    queries: np.ndarray, pool: np.ndarray, scores_bytes: int = SCORES_BYTES
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (rows, queries[rows] · pool); each block is overwritten by the next.

    Args:
        queries: [n, d].
        pool: [m, d], of the queries' dtype.
        scores_bytes: memory for a block of scores.
    """
    size = max(1, min(len(queries), scores_bytes // max(len(pool) * queries.itemsize, 1)))
    block = np.empty((size, len(pool)), queries.dtype)
    for start in range(0, len(queries), size):
        rows = slice(start, min(start + size, len(queries)))
        yield rows, np.matmul(queries[rows], pool.T, out=block[: rows.stop - start])


def top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest of each row of scores [c, m]: (values, columns), both [c, k].

    Columns are first divided into groups: the k largest scores are in the k groups with the largest
    maxima, so one fast pass replaces partitioning whole rows.
    """
    count, width = scores.shape
    groups = width // _FOLD
    if groups <= k:
        return _partition(scores, np.broadcast_to(np.arange(width), scores.shape), k)
    folded = scores[:, : groups * _FOLD].reshape(count, _FOLD, groups)
    maxima = folded.max(axis=1)
    best = np.argpartition(maxima, groups - k, axis=1)[:, -k:]
    columns = (best[:, None, :] + groups * np.arange(_FOLD)[:, None]).reshape(count, -1)
    rest = np.broadcast_to(np.arange(groups * _FOLD, width), (count, width - groups * _FOLD))
    columns = np.concatenate([columns, rest], axis=1)
    return _partition(np.take_along_axis(scores, columns, axis=1), columns, k)


def _partition(scores: np.ndarray, columns: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    best = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, scores.shape[1] - k :]
    return np.take_along_axis(scores, best, axis=1), np.take_along_axis(columns, best, axis=1)


def mean_similarity(
    queries: np.ndarray, pool: np.ndarray, k: int = 10, advance: Advance | None = None
) -> np.ndarray:
    """r(x, Z) [n]: mean of the k largest inner products with the pool (Conneau et al. 2018, §2.3).

    Args:
        queries: x [n, d].
        pool: Z [m, d], of the queries' dtype.
        k: neighbours per query.
        advance: called with the number of queries done since the last call.
    """
    means = np.empty(len(queries), queries.dtype)
    for rows, values, _ in nearest(queries, pool, k):
        means[rows] = values.mean(axis=1)
        if advance is not None:
            advance(rows.stop - rows.start)
    return means
