"""The interface of poolings, which reduce a set or sequence of vectors to one."""

import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

from polyglance.core.registry import Registry, nearest
from polyglance.errors import PolyglanceError


class Pooling(nn.Module):
    """Pools [B, K, D] with lengths [B] ≥ 1 to [B, D]; vectors past a length are ignored.

    Half-precision vectors are summed in float32, and the result has the vectors' type.

    A subclass defines `forward`:

    >>> class Sum(Pooling):
    ...     def forward(self, vectors, lengths):
    ...         return (vectors * valid(vectors, lengths).unsqueeze(2)).sum(1)
    >>> Sum(1)(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[4.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """vectors [B, K, D], lengths [B] → [B, D]."""
        raise TypeError("a pooling defines forward()")

    def with_vectors(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Like `forward`, and the vectors [B, K, D] that were pooled, after any transformation."""
        return self(vectors, lengths), vectors


poolings: Registry[Callable[[int], Pooling]] = Registry("pooling")
numbered: dict[str, Callable[[int, int], Pooling]] = {}
"""Poolings whose names end in a number, such as kmax5."""


def pooling_names() -> list[str]:
    """Names that recipes may use; a numbered pooling is listed with the number 5.

    >>> {"gpo", "kmax5", "mean"} <= set(pooling_names())
    True
    """
    return sorted([*poolings, *(f"{family}5" for family in numbered)])


def build_pooling(name: str, dim: int) -> Pooling:
    """Create the pooling `name` for vectors of dimension `dim`.

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
    """Mask [B, K] of the vectors [B, K, …] that are within the lengths [B].

    >>> valid(torch.zeros(2, 3, 1), torch.tensor([1, 3])).int().tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    return torch.arange(vectors.shape[1], device=vectors.device) < lengths.unsqueeze(1)
