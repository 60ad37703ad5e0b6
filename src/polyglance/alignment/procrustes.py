"""Orthogonal Procrustes: the rotation that best maps one language's vectors to another's."""

import numpy as np

from polyglance.errors import PolyglanceError


def procrustes(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """M [d, d], orthogonal, minimising ‖X Mᵀ − Y‖ over paired rows X, Y [n, d] (Schönemann 1966).

    YᵀX = UΣVᵀ gives M = UVᵀ; a vector x is mapped to Mx, rows to X Mᵀ. As a rotation, it preserves
    all distances: use it if pairs are few or noisy, and to initialise RCSLS.

    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> source = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> np.allclose(procrustes(source, source @ turn.T), turn)
    True
    """
    check_pairs(source, target)
    left, _, right = np.linalg.svd(target.T.astype(np.float64) @ source)
    return (left @ right).astype(source.dtype)


def check_pairs(source: np.ndarray, target: np.ndarray) -> None:
    """Raise an error unless there are pairs, with vectors of the same dimension."""
    if len(source) == 0:
        raise PolyglanceError("there are no word pairs to align with; use a larger dictionary")
    if source.shape[1] != target.shape[1]:
        raise PolyglanceError(
            f"the source vectors have dimension {source.shape[1]} and the target's "
            f"{target.shape[1]}; align vectors of the same dimension"
        )
