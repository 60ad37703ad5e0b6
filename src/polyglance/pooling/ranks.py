"""Poolings that weight the values of each dimension by rank."""

import torch
from torch import Tensor, nn

from polyglance.pooling.base import Pooling, numbered, poolings
from polyglance.pooling.simple import MeanPool
from polyglance.pooling.sorting import descending

KNOTS = 21
"""FSPool's knots: 20 pieces (Zhang et al. 2020)."""


def interpolation(lengths: Tensor, knots: int, like: Tensor, count: int | None = None) -> Tensor:
    """Linear interpolation of knots to n ranks, [L, M, knots].

    Rank k = 0…n−1 is at position k / (n − 1) between the first and last knot; rows past a length
    are 0.

    Args:
        lengths: [L], the sizes n.
        knots: number of knots.
        like: a tensor of the result's type.
        count: M; the largest length by default.

    >>> interpolation(torch.tensor([3]), 2, torch.zeros(()))[0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    count = int(lengths.max()) if count is None else count
    ranks = torch.arange(count, device=lengths.device)
    gaps = (lengths - 1).clamp(min=1).unsqueeze(1)
    places = (ranks.to(like.dtype) * (knots - 1) / gaps).unsqueeze(2)
    near = 1 - (places - torch.arange(knots, device=lengths.device)).abs()
    return near.clamp(min=0) * (ranks < lengths.unsqueeze(1)).unsqueeze(2)


class KMaxPool(Pooling):
    """Mean of the min(K, n) largest values of every dimension.

    >>> sets = torch.tensor([[[3.0], [1.0], [2.0]], [[4.0], [9.0], [9.0]]])
    >>> KMaxPool(1, 2)(sets, torch.tensor([3, 1])).tolist()
    [[2.5], [4.0]]
    """

    def __init__(self, dim: int, k: int) -> None:
        super().__init__(dim)
        self.k = k

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        if not torch.jit.is_tracing() and self.k >= int(lengths.max()):
            return MeanPool(self.dim)(vectors, lengths)
        total = descending(vectors, lengths)[:, :, : self.k].sum(2)
        # k is per sample: a short set must not reduce it for the others.
        return (total / lengths.clamp(max=self.k).unsqueeze(1)).to(vectors.dtype)


numbered["kmax"] = KMaxPool


@poolings.register("fspool")
class FSPool(Pooling):
    """Featurewise sort pooling (Zhang et al. 2020, §3): Σ_k w_d(k / (n−1)) · (k-th largest of d).

    w_d is piecewise linear with knots drawn from N(0, 1), without a softmax.

    >>> pool = FSPool(1)
    >>> _ = nn.init.ones_(pool.weight)  # a sum
    >>> pool(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[4.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.weight = nn.Parameter(torch.randn(dim, KNOTS))

    def coefficients(self, lengths: Tensor) -> Tensor:
        """lengths [L] → [L, M, D]: the weight of every rank and dimension."""
        return interpolation(lengths, KNOTS, self.weight) @ self.weight.t()

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        ranked = descending(vectors, lengths)
        # Mixing the ranks first avoids the [B, M, D] weights.
        mixed = ranked @ interpolation(lengths, KNOTS, ranked, ranked.shape[2])  # [B, D, KNOTS]
        return (mixed * self.weight).sum(2).to(vectors.dtype)
