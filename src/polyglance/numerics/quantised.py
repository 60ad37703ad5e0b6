"""Approximate products of many vectors with one, in 8 bits, with bounds of their errors.

Such a product is limited by memory bandwidth: reading 8 bits takes a quarter of the time of 32.
"""

from typing import Any

import numpy as np

LEVELS, DIGIT = 127, 63
"""Largest integers: of a stored vector, and of the vector that is compared with them."""
BLOCK = 1 << 17
"""Vectors per graph: their integers are copied while it is loaded."""
ROUNDING = 1e-5
"""Upper bound of the float32 error of a product of unit vectors."""
_SMALLEST = 1e-30
_UINT8, _INT8, _INT32 = 2, 3, 6
"""Types of an ONNX file."""


class QuantisedProducts:
    """Products of unit vectors [N, D] with a vector [D]: `QuantisedProducts(vectors)(vector)`.

    A stored vector is integers from -127 to 127 and a scale. The other is the sum of two such
    vectors, the second for the remainder of the first, so that it adds hardly any error. Its
    integers have 7 bits: with 8, sums overflow on processors without VNNI.

    >>> products, errors = QuantisedProducts(np.eye(2, dtype=np.float32))(np.array([0.6, 0.8]))
    >>> bool((np.abs(products - [0.6, 0.8]) <= errors).all()), bool(errors.max() < 0.001)
    (True, True)
    """

    def __init__(self, vectors: np.ndarray) -> None:
        starts = range(0, len(vectors), BLOCK)
        parts = [_quantised(vectors[start : start + BLOCK]) for start in starts]
        self._graphs = [_session(integers) for integers, _, _ in parts]
        self._scales = np.concatenate([scales for _, scales, _ in parts])
        self._errors = np.concatenate([errors for _, _, errors in parts])

    def __call__(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Approximate products [N], and the largest possible error of each [N].

        Args:
            vector: [D].
        """
        scale = max(float(np.abs(vector).max()), _SMALLEST) / DIGIT
        scales = np.array([scale, scale / (2 * DIGIT)], np.float32)
        high = np.round(vector / scale)
        low = np.round((vector - scale * high) / scales[1])  # at most half of `scale`
        digits = np.stack([high, np.clip(low, -DIGIT, DIGIT)]).astype(np.float32)
        given = {"x": (digits + DIGIT + 1).astype(np.uint8)}
        sums = np.concatenate([graph.run(None, given)[0] for graph in self._graphs], axis=1)
        products = self._scales * (scales @ sums.astype(np.float32))
        # |q·v - q'·v'| <= |q - q'| |v'| + |q| |v - v'| (Cauchy and Schwarz)
        left, length = np.linalg.norm(vector - scales @ digits), np.linalg.norm(vector)
        errors = left * (1 + self._errors) + length * (self._errors + ROUNDING)
        return products, errors.astype(np.float32)


def _quantised(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integers [N, D] and scales [N] of vectors, and the lengths [N] of the remainders."""
    scales = np.maximum(np.abs(vectors).max(1), _SMALLEST).astype(np.float32) / LEVELS
    integers = np.round(vectors / scales[:, None]).astype(np.int8)
    rest = vectors - integers * scales[:, None]
    return integers, scales, np.linalg.norm(rest, axis=1)


def _session(integers: np.ndarray) -> Any:
    """x uint8 [2, D] → (x - 64) · integersᵀ, int32 [2, N]."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # more would spin beside requests
    return onnxruntime.InferenceSession(
        _graph(integers), options, providers=["CPUExecutionProvider"]
    )


def _graph(integers: np.ndarray) -> bytes:
    """An ONNX file with one MatMulInteger; the package `onnx` is only installed for exports.

    Field numbers are those of onnx.proto.
    """
    count, dim = integers.shape
    zero = _field(2, _UINT8) + _field(8, b"z") + _field(9, bytes([DIGIT + 1]))
    weights = _field(1, dim) + _field(1, count) + _field(2, _INT8) + _field(8, b"w")
    weights += _field(9, np.ascontiguousarray(integers.T).tobytes())
    node = b"".join(_field(1, name) for name in (b"x", b"w", b"z"))
    node += _field(2, b"y") + _field(4, b"MatMulInteger")
    graph = _field(1, node) + _field(2, b"g") + _field(5, weights) + _field(5, zero)
    graph += _field(11, _value(b"x", _UINT8, dim)) + _field(12, _value(b"y", _INT32, count))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 17))


def _value(name: bytes, kind: int, width: int) -> bytes:
    """An input or output [2, width]."""
    shape = b"".join(_field(1, _field(1, size)) for size in (2, width))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
