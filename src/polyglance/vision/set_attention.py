"""Self-attention over the vectors of an image: LIWE's "hierarchical" image encoder."""

import torch
from torch import Tensor, nn

from polyglance.numerics.products import Linear

REDUCTION = 8
"""The dimension of queries and keys is an eighth of the vectors': 256 of 2,048."""


class SetAttention(nn.Module):
    """x + γ · softmax(qᵀk) v over the vectors of a set, with γ starting at 0.

    Zhang et al. 2019 (SAGAN), section 3; LIWE's code applies it to regions.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        narrow = max(dim // REDUCTION, 1)
        self.queries, self.keys = Linear(dim, narrow), Linear(dim, narrow)
        self.values = Linear(dim, dim)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Vectors [B, K, F], valid where mask [B, K] → [B, K, F]; invalid ones are unchanged."""
        vectors = vectors.masked_fill(~mask.unsqueeze(2), 0)
        scores = self.queries(vectors) @ self.keys(vectors).transpose(1, 2)  # [B, K, K]
        scores = scores.masked_fill(~mask.unsqueeze(1), torch.finfo(scores.dtype).min)
        return vectors + self.gamma * (scores.softmax(2) @ self.values(vectors))
