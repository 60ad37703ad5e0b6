"""Exact search in memory: one matrix product per query."""

import numpy as np

from polyglance.library.stores.protocol import DIGITS


class ExactIndex:
    """Normalised vectors float32 [N, D]; ties are broken by the order of rows.

    float32, although float16 would take half the memory: numpy multiplies float16 without BLAS,
    many times slower (`python benchmarks/library.py search`).
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = np.ascontiguousarray(vectors, np.float32)

    def top(
        self, query: np.ndarray, count: int, mask: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows and scores of the best, best first.

        Args:
            query: [D], normalised.
            count: largest number of results.
            mask: [N], which rows to search.
        """
        rows = None if mask is None else np.flatnonzero(mask)
        if rows is not None and 4 * len(rows) < len(self.vectors):
            scores = self.vectors[rows] @ query
        else:
            scores = self.vectors @ query
            scores = scores if rows is None else scores[rows]
        best = _best(scores, count)
        return (best if rows is None else rows[best]), scores[best]


def _best(scores: np.ndarray, count: int) -> np.ndarray:
    count = min(count, len(scores))
    if not count:
        return np.empty(0, np.int64)
    least = np.partition(scores, -count)[-count]
    candidates = np.flatnonzero(scores >= least - 10.0**-DIGITS)
    rounded = np.round(scores[candidates].astype(np.float64), DIGITS)
    return candidates[np.argsort(-rounded, kind="stable")[:count]]
