"""One way to handle whatever a model encodes pictures and texts as."""

from collections.abc import Sequence

import numpy as np

from polyglance.sets import Codes


def as_codes(value: Codes) -> Codes:
    """Points as a float32 array [n, D]; `VectorSets` and the like as they are."""
    return value if hasattr(value, "finite") else np.asarray(value, np.float32)


def finite(codes: Codes) -> np.ndarray:
    """Which rows are there and hold finite numbers only, [n] bool."""
    if isinstance(codes, np.ndarray):
        return np.asarray(np.isfinite(codes).all(axis=1))
    return np.asarray(codes.finite())


def concatenate(parts: Sequence[Codes]) -> Codes:
    """The rows of all parts, in order."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return parts[0].concatenate(parts)


def width(codes: Codes) -> object:
    """What codes of pictures and texts must agree in, such as the numbers of a point."""
    if not isinstance(codes, np.ndarray):
        return type(codes), codes.dim
    return codes.shape[1:]


def shape(codes: Codes) -> str:
    """For error messages."""
    if isinstance(codes, np.ndarray):
        return str(codes.shape)
    return f"{len(codes)} of {type(codes).__name__}"
