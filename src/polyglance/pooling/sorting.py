"""Sorting every dimension of a set on its own, which is where rank poolings spend their time.

On a CPU, `numpy` sorts short rows of numbers several times faster than `torch.sort`, which
carries their places along. Where a gradient needs the places, they ride in the low bits of
float64 keys: a float32 leaves 29 bits of it unused.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from polyglance.pooling.base import valid, wide

BLOCK = 2**18
"""Numbers sorted at a time, so that they stay in the processor's cache."""
PLACES = 2**28
"""Places that keys can hold and still round to their float32."""


def descending(vectors: Tensor, lengths: Tensor) -> Tensor:
    """vectors [B, K, D], lengths [B] → [B, D, M] with M the largest length, in float32 or 64.

    Entry k is the k-th largest valid value of the dimension, and 0 past the length.
    """
    vectors = wide(vectors[:, : int(lengths.max())])
    mask = valid(vectors, lengths)
    if bool(mask.all()):
        return sort_ranks(vectors)
    lowest = torch.finfo(vectors.dtype).min
    ranked = sort_ranks(vectors.masked_fill(~mask.unsqueeze(2), lowest))
    return ranked.masked_fill(~mask.unsqueeze(1), 0)


def sort_ranks(vectors: Tensor) -> Tensor:
    """Finite vectors [B, M, D] → [B, D, M], descending along M."""
    native = vectors.dtype == torch.float32 and vectors.device.type == "cpu"
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing()
    if not native or traced or vectors.shape[1] > PLACES:
        return vectors.transpose(1, 2).contiguous().sort(dim=2, descending=True).values
    if vectors.requires_grad and torch.is_grad_enabled():
        return _Sort.apply(vectors)
    return _values(vectors)


def _blocks(count: int, size: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(size, 1))
    return (slice(start, start + step) for start in range(0, count, step))


def _values(vectors: Tensor) -> Tensor:
    ranked = vectors.new_empty(vectors.transpose(1, 2).shape)
    for rows in _blocks(len(vectors), vectors[0].numel()):
        block = torch.neg(vectors[rows].transpose(1, 2), out=ranked[rows])
        block.numpy().sort(axis=2)
        block.neg_()
    return ranked


class _Sort(torch.autograd.Function):
    """The sort with a gradient, which goes to the places where the values came from."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        batch, width, dim = vectors.shape
        ranked = vectors.new_empty(batch, dim, width)
        kind = torch.uint8 if width <= 256 else torch.int32
        places = torch.empty(batch, dim, width, dtype=kind)
        for rows in _blocks(batch, width * dim):
            keys = torch.empty_like(ranked[rows], dtype=torch.float64)
            keys.copy_(vectors[rows].transpose(1, 2)).neg_()
            bits = keys.view(torch.int64)
            bits |= torch.arange(width)
            keys.numpy().sort(axis=2)
            places[rows] = bits & (PLACES - 1)
            ranked[rows] = keys.neg_()
        ctx.save_for_backward(places)
        return ranked

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (places,) = ctx.saved_tensors
        grad = grads[0]
        vectors = grad.new_empty(grad.transpose(1, 2).shape)
        for rows in _blocks(len(grad), grad[0].numel()):
            block = torch.empty_like(grad[rows]).scatter_(2, places[rows].long(), grad[rows])
            vectors[rows] = block.transpose(1, 2)
        return vectors
