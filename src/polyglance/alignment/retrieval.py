"""Word translation by nearest neighbour or CSLS, and its precision at 1, 5 and 10."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyglance.alignment.neighbours import score_blocks
from polyglance.errors import PolyglanceError

CUTOFFS = (1, 5, 10)


@dataclass(frozen=True)
class Precision:
    """Number of source words, and the shares with a correct translation among the first k."""

    words: int
    at: dict[int, float]


def translation_ranks(
    queries: np.ndarray,
    targets: np.ndarray,
    gold: Sequence[np.ndarray],
    hubness: np.ndarray | None = None,
) -> np.ndarray:
    """Ranks [n], from 0, of each query's best correct translation among all targets.

    In a tie, wrong words rank first.

    Args:
        queries: [n, d], mapped and normalised.
        targets: [m, d], normalised.
        gold: the correct rows of `targets` for each query.
        hubness: r_s(y) [m], the `mean_similarity` of each target to the mapped source words; with
            it, the score is CSLS, 2cos − r_t(x) − r_s(y), without r_t(x), which is constant for a
            query.
    """
    ranks = np.empty(len(queries), np.int64)
    for rows, scores in score_blocks(queries, targets):
        if hubness is not None:
            scores *= 2
            scores -= hubness
        for row, values in zip(range(rows.start, rows.stop), scores, strict=True):
            right = values[gold[row]]
            best = right.max()
            ranks[row] = np.count_nonzero(values >= best) - np.count_nonzero(right == best)
    return ranks


def group_gold(rows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distinct source rows [n], and the rows of their translations, from pairs [p]."""
    distinct, inverse = np.unique(rows, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    bounds = np.cumsum(np.bincount(inverse, minlength=len(distinct)))[:-1]
    return distinct, [np.unique(part) for part in np.split(targets[order], bounds)]


def precision(ranks: np.ndarray) -> Precision:
    """Precision at the cutoffs from ranks that start at 0.

    >>> precision(np.array([0, 3, 20, 0]))
    Precision(words=4, at={1: 0.5, 5: 0.75, 10: 0.75})
    """
    if len(ranks) == 0:
        raise PolyglanceError(
            "there are no held-out pairs to evaluate with; use a larger dictionary"
        )
    return Precision(len(ranks), {k: float(np.mean(ranks < k)) for k in CUTOFFS})
