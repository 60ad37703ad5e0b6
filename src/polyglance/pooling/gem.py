"""Generalised-mean pooling."""

import torch
from torch import Tensor, nn

from polyglance.numerics.precision import to_float32
from polyglance.pooling.base import Pooling, poolings, valid

SMALLEST = 1e-6
SMALLEST_POWER = 0.01


@poolings.register("gem")
class GeMPool(Pooling):
    """(mean x^p)^(1/p) with a learned p, initially 3 (Radenović et al. 2018, §3.2, Eq. 3).

    Values below 1e-6 count as 1e-6, so it suits non-negative features. Computed with
    logarithms, because x^p overflows float32 even for moderate p.

    >>> pooled = GeMPool(1)(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([2]))
    >>> round(pooled.item(), 4)  # the cube root of 14
    2.4101
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.power = nn.Parameter(torch.tensor(3.0))

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        mask = valid(vectors, lengths).unsqueeze(2)
        values = to_float32(vectors.masked_fill(~mask, 1)).clamp(min=SMALLEST)
        power = self.power.to(values.dtype).clamp(min=SMALLEST_POWER)
        powers = (power * values.log()).masked_fill(~mask, -torch.inf)
        logarithm = powers.logsumexp(1) - lengths.unsqueeze(1).to(powers.dtype).log()
        return (logarithm / power).exp().to(vectors.dtype)
