"""A weighted mean with a weight of each vector (Chen et al. 2020, HGR, §3.2 and §3.3)."""

import torch
from torch import Tensor, nn

from polyglance.numerics.precision import wide
from polyglance.pooling.base import Pooling, poolings, valid


@poolings.register("weighted")
class WeightedPool(Pooling):
    """Weights are a softmax of one number a vector, which a linear layer gives.

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
        numbers = self.weigh(cleared.to(self.weigh.weight.dtype)).squeeze(2)
        weights = wide(numbers).masked_fill(outside, -torch.inf).softmax(1)
        return torch.einsum("bk,bkd->bd", weights.to(vectors.dtype), cleared)
