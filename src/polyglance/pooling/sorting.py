"""Sorts every dimension of a set separately; rank poolings spend most of their time here.

On a CPU, `numpy` sorts short rows several times faster than `torch.sort`, which also computes
the indices. If the gradient needs the indices, they are stored in the low bits of float64 keys,
of which a float32 value leaves 29 unused.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from polyglance.numerics.precision import to_float32
from polyglance.pooling.base import valid

BLOCK = 2**18
"""Values sorted at a time, so that they stay in the processor's cache."""
PLACES = 2**28
"""Indices that fit into the keys without changing the float32 value they round to."""
LARGEST = torch.finfo(torch.float32).max


def descending(vectors: Tensor, lengths: Tensor) -> Tensor:
    """vectors [B, K, D], lengths [B] → [B, D, M], M the largest length, in float32 or float64.

    Entry k is the k-th largest valid value of the dimension, and 0 past the length.

    >>> sets = torch.tensor([[[1.0, 6.0], [3.0, 5.0]], [[7.0, 8.0], [9.0, 9.0]]])
    >>> descending(sets, torch.tensor([2, 1])).tolist()
    [[[3.0, 1.0], [6.0, 5.0]], [[7.0, 0.0], [8.0, 0.0]]]
    """
    if torch.jit.is_tracing():  # M is K: a trace cannot depend on the lengths
        return _plain(to_float32(vectors), ~valid(vectors, lengths).unsqueeze(1))
    vectors = to_float32(vectors[:, : int(lengths.max())])
    padding = ~valid(vectors, lengths).unsqueeze(1)  # [B, 1, M]
    outside = padding if bool(padding.any()) else None
    native = vectors.dtype == torch.float32 and vectors.device.type == "cpu"
    if not native or torch.compiler.is_compiling() or vectors.shape[1] > PLACES:
        return _plain(vectors, outside)
    if vectors.requires_grad and torch.is_grad_enabled():
        return _Sort.apply(vectors, outside)
    return _values(vectors, outside)


def _plain(vectors: Tensor, outside: Tensor | None) -> Tensor:
    values = vectors.transpose(1, 2).contiguous()
    if outside is None:
        return values.sort(dim=2, descending=True).values
    lowest = torch.finfo(values.dtype).min
    ranked = values.masked_fill(outside, lowest).sort(dim=2, descending=True).values
    return ranked.masked_fill(outside, 0)


def _blocks(count: int, size: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(size, 1))
    return (slice(start, start + step) for start in range(0, count, step))


def _fill(block: Tensor, outside: Tensor | None, rows: slice, value: float) -> None:
    if outside is not None:
        block.masked_fill_(outside[rows], value)


def _values(vectors: Tensor, outside: Tensor | None) -> Tensor:
    ranked = vectors.new_empty(vectors.transpose(1, 2).shape)
    for rows in _blocks(len(vectors), vectors[0].numel()):
        block = torch.neg(vectors[rows].transpose(1, 2), out=ranked[rows])
        _fill(block, outside, rows, LARGEST)
        block.numpy().sort(axis=2)
        block.neg_()
        _fill(block, outside, rows, 0)
    return ranked


class _Sort(torch.autograd.Function):
    """The sort with a gradient, which is scattered back to where the values came from."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, outside: Tensor | None) -> Tensor:
        batch, width, dim = vectors.shape
        ranked = vectors.new_empty(batch, dim, width)
        kind = torch.uint8 if width <= 256 else torch.int32
        places = ranked.new_empty(batch, dim, width, dtype=kind)
        for rows in _blocks(batch, width * dim):
            keys = torch.empty_like(ranked[rows], dtype=torch.float64)
            values = vectors[rows].neg()
            if outside is not None:  # faster before the transposition
                values.masked_fill_(outside[rows].transpose(1, 2), LARGEST)
            keys.copy_(values.transpose(1, 2))
            bits = keys.view(torch.int64)
            bits |= torch.arange(width, device=bits.device)
            keys.numpy().sort(axis=2)
            places[rows] = bits & (PLACES - 1)
            ranked[rows] = keys.neg_()
            _fill(ranked[rows], outside, rows, 0)
        ctx.save_for_backward(places, outside)
        return ranked

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        places, outside = ctx.saved_tensors
        grad = grads[0]
        vectors = grad.new_empty(grad.transpose(1, 2).shape)
        for rows in _blocks(len(grad), grad[0].numel()):
            block = torch.empty_like(grad[rows]).scatter_(2, places[rows].long(), grad[rows])
            vectors[rows] = block.transpose(1, 2)
            if outside is not None:
                # Values past a length are sorted last, so their gradients end up past it, too.
                vectors[rows].masked_fill_(outside[rows].transpose(1, 2), 0)
        return vectors, None
