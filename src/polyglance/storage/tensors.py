"""safetensors files, memory-mapped: only what is used is read."""

import json
import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic, has_file

TYPES: dict[str, np.dtype] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "U8": np.dtype("u1"),
    "U32": np.dtype("<u4"),
}
LONGEST_HEADER = 1 << 20
Tensors = Mapping[str, np.ndarray]


def write_tensors(path: Path, tensors: Tensors) -> None:
    """Write named arrays of the types in `TYPES`, atomically."""
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    with atomic(path) as handle:
        handle.write(save(contiguous))


def map_tensors(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, read-only; an error if the file is invalid or damaged."""
    if not has_file(path):
        raise PolyglanceError(f"{path}: missing; copy the whole folder again")
    try:
        with path.open("rb") as handle:
            data = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(data[:8], "little")
        if size > LONGEST_HEADER:
            raise ValueError("header")
        header = json.loads(data[8 : 8 + size])
        header.pop("__metadata__", None)
        return {name: _array(data, 8 + size, entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise PolyglanceError(
            f"{path}: not a safetensors file, or damaged; copy the whole folder again"
        ) from None


def _array(data: mmap.mmap, begin: int, entry: Mapping[str, Any]) -> np.ndarray:
    kind, shape, (first, last) = TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    count = math.prod(shape)
    if min([first, *shape]) < 0 or last - first != count * kind.itemsize:
        raise ValueError("sizes")
    return np.frombuffer(data, kind, count, begin + first).reshape(shape)
