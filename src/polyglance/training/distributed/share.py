"""One process's share of a batch, and gathering the results of all."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, distributed
from torch.nn import functional


class Share(NamedTuple):
    """Rows of a batch: rank r has `sizes[r]` of them, in the order of ranks.

    With one process, or fewer rows than ranks, `sizes` is empty and every rank has all rows:
    gradients are averaged over ranks, so identical computations count once.
    """

    rank: int
    sizes: tuple[int, ...] = ()

    @property
    def rows(self) -> slice:
        """The rows of this rank."""
        if not self.sizes:
            return slice(None)
        start = sum(self.sizes[: self.rank])
        return slice(start, start + self.sizes[self.rank])

    def all(self) -> "list[Share]":
        """The shares of all ranks."""
        return [self._replace(rank=rank) for rank in range(len(self.sizes))]

    def gather(self, own: Any) -> Any:
        """The results of all ranks: from a tensor [n, …] one [B, …], with gradients.

        Named tuples are gathered field by field; sets [n, K, D] may have a different K on every
        rank, and are padded to the largest.
        """
        if not self.sizes:
            return own
        if isinstance(own, tuple):
            return type(own)(*(self.gather(_widened(part)) for part in own))
        return _Gather.apply(own, self.rank, self.sizes)

    def mean(self, own: Tensor) -> Tensor:
        """Mean over the rows of all ranks, from the mean over own rows: [] → []."""
        if not self.sizes:
            return own
        every = _Gather.apply(own.reshape(1), self.rank, (1,) * len(self.sizes))
        return every @ every.new_tensor(self.sizes) / sum(self.sizes)


def sum_ranks(own: Tensor, rank: int, size: int) -> Tensor:
    """Sum of the values of all ranks, with gradients: [] → [].

    Args:
        own: the value of this rank.
        rank: of this process.
        size: number of processes.
    """
    return own if size == 1 else _Gather.apply(own.reshape(1), rank, (1,) * size).sum()


def mean_weights(ranks: Sequence[np.ndarray], rank: int) -> np.ndarray:
    """Weights with which sums of all ranks are a mean over distinct items: float32 [U].

    An item of several ranks counts once, divided between them.

    Args:
        ranks: the items of each rank, which may repeat.
        rank: whose U distinct items the weights are of, in ascending order.

    >>> mean_weights([np.array([4, 2, 4]), np.array([2, 7])], 0)
    array([0.16666667, 0.33333334], dtype=float32)
    """
    distinct = [np.unique(items) for items in ranks]
    items, counts = np.unique(np.concatenate(distinct), return_counts=True)
    own = counts[np.searchsorted(items, distinct[rank])]
    return (1 / (own * len(items))).astype(np.float32)


def split_rows(count: int, rank: int, size: int) -> Share:
    """An even share of `count` rows; the first ranks have one more if there is a remainder.

    Args:
        count: rows of the whole batch.
        rank: of this process.
        size: number of processes.

    >>> split_rows(7, 1, 3).sizes, split_rows(7, 1, 3).rows
    ((3, 2, 2), slice(3, 5, None))
    """
    if size == 1 or count < size:
        return Share(rank)
    fewest, more = divmod(count, size)
    return Share(rank, tuple(fewest + (number < more) for number in range(size)))


class _Gather(torch.autograd.Function):
    """all_gather of rows. Every rank computes the same loss from them, so the gradient of its own
    rows needs no second exchange. DistributedDataParallel divides the sum of the ranks' gradients
    by their number, hence the factor."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, rank: int, sizes: Sequence[int]) -> Tensor:
        ctx.start, ctx.count, ctx.ranks = sum(sizes[:rank]), sizes[rank], len(sizes)
        missing = max(sizes) - len(own)
        padded = functional.pad(own, [0, 0] * (own.dim() - 1) + [0, missing]) if missing else own
        parts = [torch.empty_like(padded, memory_format=torch.contiguous_format) for _ in sizes]
        distributed.all_gather(parts, padded.contiguous())
        return torch.cat([part[:count] for part, count in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return grads[0].narrow(0, ctx.start, ctx.count) * ctx.ranks, None, None


def _widened(own: Tensor) -> Tensor:
    """Padded to the largest width [n, K, …] of any rank; [n] and [n, D] have only one width."""
    if own.dim() < 3:
        return own
    width = torch.tensor(own.shape[1], device=own.device)
    distributed.all_reduce(width, distributed.ReduceOp.MAX)
    missing = int(width) - own.shape[1]
    return functional.pad(own, [0, 0] * (own.dim() - 2) + [0, missing]) if missing else own
