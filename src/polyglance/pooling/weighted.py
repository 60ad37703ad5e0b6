"""A weighted mean with learned weights (Chen et al. 2020, HGR, §3.2 and §3.3)."""

import torch
from torch import Tensor, nn

from polyglance.numerics.precision import to_float32
from polyglance.pooling.base import Pooling, poolings, valid


@poolings.register("weighted")
class WeightedPool(Pooling):
    """Weights are a softmax over one score per vector, from a linear layer.

    >>> pool = WeightedPool(1)
    >>> _ = [nn.init.zeros_(part) for part in pool.parameters()]
    >>> pool(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.weigh = nn.Linear(dim, 1)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        outside = ~valid(vectors, lengths)
        cleared = vectors.masked_fill(outside.unsqueeze(2), 0)
        scores = self.weigh(cleared.to(self.weigh.weight.dtype)).squeeze(2)
        weights = to_float32(scores).masked_fill(outside, -torch.inf).softmax(1)
        return torch.einsum("bk,bkd->bd", weights.to(vectors.dtype), cleared)
