"""One interface for images and text: a set or sequence of vectors becomes one."""

import torch
from torch import Tensor, nn

from polyglance.registry import Registry


class Pooling(nn.Module):
    """Pools [B, K, D] with lengths [B] ≥ 1 to [B, D]; what lies past a length never counts."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """vectors [B, K, D], lengths [B] → [B, D]."""
        raise TypeError("a pooling defines forward()")


poolings: Registry[type[Pooling]] = Registry("pooling")


def build_pooling(name: str, dim: int) -> Pooling:
    """The pooling called `name` over vectors of size `dim`."""
    return poolings.get(name)(dim)


def valid(vectors: Tensor, lengths: Tensor) -> Tensor:
    """[B, K] bool: which of the vectors [B, K, D] lie within their lengths [B]."""
    return torch.arange(vectors.shape[1], device=vectors.device) < lengths.unsqueeze(1)
