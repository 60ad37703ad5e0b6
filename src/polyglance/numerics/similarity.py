"""Scores between images and captions, computed on blocks."""

from collections.abc import Callable

import numpy as np

from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError
from polyglance.numerics.sets import Embeddings

Score = Callable[[Embeddings, Embeddings], np.ndarray]
"""(images [n, D], captions [m, D], or sets) → scores [n, m]; higher is closer."""

CAPTION_BLOCK = 64
"""Captions compared with one image at a time: 64 × 1,024 float32 stay in the L2 cache."""

scores: Registry[Score] = Registry("similarity")


def normalise(vectors: np.ndarray) -> np.ndarray:
    """Scale the rows of `vectors` [n, D] to unit length; a zero row stays zero (ε = 1e-8).

    >>> normalise(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-8)


def comparable(images: object, texts: object) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings as float32 [n, D] and [m, D]; an error if their dimensions differ."""
    first, second = (np.atleast_2d(np.asarray(one, np.float32)) for one in (images, texts))
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise PolyglanceError(
            f"embeddings of shapes {first.shape} and {second.shape} cannot be compared; pass "
            "images [n, D] and texts [m, D] that the same model has encoded"
        )
    return first, second


@scores.register("dot")
def dot(images: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Dot products; equal to the cosine if both sides are normalised."""
    return images @ captions.T


@scores.register("cosine")
def cosine(images: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Cosine similarities. For speed, normalise once and use `dot`."""
    return normalise(images) @ normalise(captions).T


@scores.register("order")
def order(images: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Order violation −‖[s − im]+‖₂ (Vendrov et al. 2016, §3), without an [n, m, D] array."""
    result = np.empty((len(images), len(captions)), np.float32)
    buffer = np.empty((CAPTION_BLOCK, images.shape[1]), np.float32)
    for start in range(0, len(captions), CAPTION_BLOCK):
        block = captions[start : start + CAPTION_BLOCK]
        excess = buffer[: len(block)]
        for row, image in enumerate(images):
            np.subtract(block, image, out=excess)
            np.maximum(excess, 0, out=excess)
            result[row, start : start + len(block)] = np.einsum("md,md->m", excess, excess)
    return -np.sqrt(result)
