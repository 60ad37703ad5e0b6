"""Files of tensors, mapped: the arrays that were written, and no others."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from polyglance.errors import PolyglanceError
from polyglance.storage.tensors import map_tensors, write_tensors

ARRAYS = {
    "codes": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "rows": np.array([[0.5, -2.0]], np.float16),
    "scores": np.array([1.25], np.float32),
    "ids": np.array([4_000_000_000], np.uint32),
    "none": np.zeros((0, 4), np.float32),
}


def test_arrays_come_back_and_other_readers_see_the_same(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    write_tensors(path, ARRAYS)
    theirs = load_file(path)
    found = map_tensors(path)
    assert found.keys() == theirs.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        for other in (found[name], theirs[name]):
            assert other.dtype == value.dtype
            np.testing.assert_array_equal(other, value)
    assert not found["codes"].flags.writeable


def whole(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"short",
        b"\xff" * 40,
        whole([]),
        whole({"a": 3}),
        whole({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, b"\0" * 8),
        whole({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"\0" * 4),
        whole({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}}, b"\0" * 4),
        whole({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 4),
        whole({"a": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}}, b"\0" * 4),
        whole({"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}, b"\0" * 4),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "some.safetensors"
    path.write_bytes(data)
    with pytest.raises(PolyglanceError, match=r"some\.safetensors: not a safetensors file"):
        map_tensors(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"none\.safetensors: missing"):
        map_tensors(tmp_path / "none.safetensors")
