"""One way to handle whatever a model encodes images and texts as."""

from collections.abc import Sequence

import numpy as np

from polyglance.sets import Embeddings


def as_embeddings(value: Embeddings) -> Embeddings:
    """Vectors as a float32 array [n, D]; `VectorSets` and the like as they are."""
    return value if hasattr(value, "finite") else np.asarray(value, np.float32)


def finite(embeddings: Embeddings) -> np.ndarray:
    """Which rows are there and hold finite numbers only, [n] bool."""
    if isinstance(embeddings, np.ndarray):
        return np.asarray(np.isfinite(embeddings).all(axis=1))
    return np.asarray(embeddings.finite())


def concatenate(parts: Sequence[Embeddings]) -> Embeddings:
    """The rows of all parts, in order."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return parts[0].concatenate(parts)


def dim_of(embeddings: Embeddings) -> object:
    """What embeddings of images and texts must agree in, such as the dimension of a vector."""
    if not isinstance(embeddings, np.ndarray):
        return type(embeddings), embeddings.dim
    return embeddings.shape[1:]


def shape(embeddings: Embeddings) -> str:
    """For error messages."""
    if isinstance(embeddings, np.ndarray):
        return str(embeddings.shape)
    return f"{len(embeddings)} of {type(embeddings).__name__}"
