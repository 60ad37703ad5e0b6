"""Attention guided by the mean: the instance level of CVSE."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.precision import to_float32
from polyglance.numerics.products import Linear
from polyglance.pooling.base import Pooling, poolings, valid


@poolings.register("guided")
class GuidedPool(Pooling):
    """Σ softmax(w·(tanh(W₁v) ∘ tanh(W₂m))) v, for unit vectors v with mean m.

    Wang et al. 2020, CVSE, §3.2: the attention of its text side, used for both sides. On the
    image side, its code also has a batch normalisation per region index, which makes no sense for
    unordered sets.

    >>> pool = GuidedPool(1)
    >>> _ = [nn.init.zeros_(part) for part in pool.parameters()]
    >>> pool(torch.tensor([[[3.0], [-5.0], [9.0]]]), torch.tensor([2])).tolist()
    [[0.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.vectors, self.memory = Linear(dim, dim), Linear(dim, dim)
        self.weight = nn.Linear(dim, 1)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        mask = valid(vectors, lengths)
        inside = to_float32(vectors).masked_fill(~mask.unsqueeze(2), 0)
        own = functional.normalize(inside, dim=2, eps=1e-8).to(self.weight.weight.dtype)
        mean = own.sum(1) / lengths.unsqueeze(1)
        fits = torch.tanh(self.vectors(own)) * torch.tanh(self.memory(mean)).unsqueeze(1)
        scores = self.weight(fits).squeeze(2).masked_fill(~mask, float("-inf"))
        return torch.bmm(scores.softmax(1).unsqueeze(1), own).squeeze(1).to(vectors.dtype)
