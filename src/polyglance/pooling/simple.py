"""Poolings without parameters."""

import torch
from torch import Tensor

from polyglance.numerics.precision import to_float32
from polyglance.pooling.base import Pooling, poolings, valid


@poolings.register("mean")
class MeanPool(Pooling):
    """Average of the valid vectors.

    >>> MeanPool(1)(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0]]
    """

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        mask = valid(vectors, lengths).unsqueeze(2)
        # A half-precision sum can overflow even if the mean does not.
        total = to_float32(vectors.masked_fill(~mask, 0)).sum(1)
        return (total / lengths.unsqueeze(1)).to(vectors.dtype)


@poolings.register("max")
class MaxPool(Pooling):
    """Largest value of every dimension over the valid vectors.

    >>> MaxPool(2)(torch.tensor([[[3.0, 0.0], [1.0, 2.0], [9.0, 9.0]]]), torch.tensor([2])).tolist()
    [[3.0, 2.0]]
    """

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        mask = valid(vectors, lengths).unsqueeze(2)
        return vectors.masked_fill(~mask, torch.finfo(vectors.dtype).min).amax(1)


@poolings.register("last")
class LastPool(Pooling):
    """The last valid vector: a GRU's final state.

    >>> LastPool(1)(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[1.0]]
    """

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        return last(vectors, lengths)


def last(vectors: Tensor, lengths: Tensor) -> Tensor:
    """The last valid vectors [B, D] of [B, K, D].

    >>> last(torch.tensor([[[3.0], [1.0]], [[4.0], [9.0]]]), torch.tensor([2, 1])).tolist()
    [[1.0], [4.0]]
    """
    return vectors[torch.arange(vectors.shape[0], device=vectors.device), lengths - 1]


@poolings.register("first")
class FirstPool(Pooling):
    """The first vector: a transformer's CLS, or a BiGRU's first state.

    >>> FirstPool(1)(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[3.0]]
    """

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        return vectors[:, 0]
