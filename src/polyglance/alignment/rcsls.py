"""RCSLS: a linear map trained for CSLS retrieval, with a working rollback.

Joulin et al. 2018; the loss is also in Liu et al. 2019, §2.

The objective is positively homogeneous of degree 1 in M, so without a constraint it is unbounded
below; stopping after a few iterations is part of the method.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyglance.alignment.neighbours import Advance, nearest
from polyglance.alignment.options import DEFAULTS, AlignmentOptions
from polyglance.alignment.procrustes import check_pairs

SMALLEST_RATE = 1e-4


@dataclass(frozen=True)
class RcslsStep:
    """One iteration: its objective and learning rate, and whether it was kept."""

    iteration: int
    objective: float
    rate: float
    kept: bool


def rcsls_objective(
    matrix: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    source_pool: np.ndarray,
    target_pool: np.ndarray,
    k: int = 10,
    advance: Advance | None = None,
) -> tuple[float, np.ndarray]:
    """f(M) and its gradient [d, d] for fixed k-NN sets.

    f = (1/n) Σ −2 (Mxᵢ)ᵀyᵢ + r(Mxᵢ, Z_t) + r(yᵢ, Z_s Mᵀ). Since yᵀ(Mz) = (Mᵀy)ᵀz, pools are never
    mapped or copied.

    Args:
        matrix: M [d, d].
        source: x [n, d].
        target: y [n, d], the translations of x.
        source_pool: Z_s [s, d], all source vectors.
        target_pool: Z_t [t, d], all target vectors.
        k: neighbours in r.
        advance: called with the rows done since the last call, 2n in all.
    """
    mapped = source @ matrix.T
    value = -2.0 * float(np.sum(mapped * target, dtype=np.float64))
    gradient = -2.0 * (target.T @ source).astype(np.float64)
    k_target, k_source = min(k, len(target_pool)), min(k, len(source_pool))
    for rows, scores, places in nearest(mapped, target_pool, k):
        value += float(scores.sum(dtype=np.float64)) / k_target
        gradient += _sums(target_pool, places).T @ source[rows] / k_target
        if advance is not None:
            advance(rows.stop - rows.start)
    for rows, scores, places in nearest(target @ matrix, source_pool, k):
        value += float(scores.sum(dtype=np.float64)) / k_source
        gradient += target[rows].T @ _sums(source_pool, places) / k_source
        if advance is not None:
            advance(rows.stop - rows.start)
    return value / len(source), (gradient / len(source)).astype(matrix.dtype)


def _sums(pool: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Sums [c, d] of the pool's vectors at `places` [c, k]."""
    total = pool[places[:, 0]]
    for column in range(1, places.shape[1]):
        total += pool[places[:, column]]
    return total


def clip_spectrum(matrix: np.ndarray) -> np.ndarray:
    """The nearest matrix with singular values of at most 1."""
    left, values, right = np.linalg.svd(matrix)
    return ((left * np.minimum(values, 1.0)) @ right).astype(matrix.dtype)


def rcsls(
    source: np.ndarray,
    target: np.ndarray,
    source_pool: np.ndarray,
    target_pool: np.ndarray,
    start: np.ndarray,
    options: AlignmentOptions = DEFAULTS,
    advance: Advance | None = None,
    on_step: Callable[[RcslsStep], None] | None = None,
) -> tuple[np.ndarray, list[RcslsStep]]:
    """Gradient descent from `start`; returns the best matrix, and all steps including `start`.

    If the objective rises, the best matrix is restored and the rate halved.

    Args:
        source: [n, d].
        target: [n, d], the translations of `source`.
        source_pool: [s, d], all source vectors.
        target_pool: [t, d], all target vectors.
        start: [d, d].
        options: with the neighbours, iterations and first learning rate.
        advance: called with the rows done since the last call, 2n per iteration.
        on_step: called with every step.
    """
    check_pairs(source, target)
    best, rate = clip_spectrum(start) if options.spectral else start, options.rate
    data = (source, target, source_pool, target_pool, options.k, advance)
    value, gradient = rcsls_objective(best, *data)
    steps = [RcslsStep(0, value, rate, True)]
    if on_step is not None:
        on_step(steps[0])
    for iteration in range(1, options.iterations + 1):
        tried = best - gradient * best.dtype.type(rate)
        tried = clip_spectrum(tried) if options.spectral else tried
        new_value, new_gradient = rcsls_objective(tried, *data)
        kept = new_value < value
        steps.append(RcslsStep(iteration, new_value, rate, kept))
        if on_step is not None:
            on_step(steps[-1])
        if kept:
            best, value, gradient = tried, new_value, new_gradient
            continue
        rate /= 2
        if rate < SMALLEST_RATE:
            break
    return best, steps
