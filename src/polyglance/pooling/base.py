"""One interface for images and text: a set or sequence of vectors becomes one."""

import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

from polyglance.core.registry import Registry, nearest
from polyglance.errors import PolyglanceError


class Pooling(nn.Module):
    """Pools [B, K, D] with lengths [B] ≥ 1 to [B, D]; what lies past a length never counts.

    Half-precision vectors are summed in float32, and the result has the vectors' type.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """vectors [B, K, D], lengths [B] → [B, D]."""
        raise TypeError("a pooling defines forward()")

    def with_vectors(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` gives, and the vectors [B, K, D] that it was made of in the end.

        A pooling that changes the vectors first gives the changed ones.
        """
        return self(vectors, lengths), vectors


poolings: Registry[Callable[[int], Pooling]] = Registry("pooling")
numbered: dict[str, Callable[[int, int], Pooling]] = {}
"""Families of poolings with a number after their name, such as kmax5."""


def pooling_names() -> list[str]:
    """Names that recipes may use; a family of numbered ones is shown by its fifth.

    >>> {"gpo", "kmax5", "mean"} <= set(pooling_names())
    True
    """
    return sorted([*poolings, *(f"{family}5" for family in numbered)])


def build_pooling(name: str, dim: int) -> Pooling:
    """The pooling called `name` over vectors of size `dim`.

    >>> build_pooling("kmax2", 1)(torch.tensor([[[3.0], [1.0], [2.0]]]), torch.tensor([3]))
    tensor([[2.5000]])
    """
    match = re.fullmatch(r"([a-z]+)(-?[0-9]{1,9})", name)
    if match and match[1] in numbered:
        if int(match[2]) < 1:
            raise PolyglanceError(f"pooling '{name}': the number must be 1 or more")
        return numbered[match[1]](dim, int(match[2]))
    if name not in list(poolings):
        raise PolyglanceError(f"unknown pooling '{name}'{nearest(name, pooling_names())}")
    return poolings.get(name)(dim)


def valid(vectors: Tensor, lengths: Tensor) -> Tensor:
    """[B, K] bool: which of the vectors [B, K, …] lie within their lengths [B]."""
    return torch.arange(vectors.shape[1], device=vectors.device) < lengths.unsqueeze(1)
