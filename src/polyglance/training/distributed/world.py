"""The processes of one training, each with its rank."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from torch import Tensor, distributed

from polyglance.training.distributed.share import Share, split_rows, sum_ranks

T = TypeVar("T")


@dataclass
class World:
    """The processes that train one model; all compute, and `rank` 0 writes.

    Args:
        rank: of this process, from 0.
        size: number of processes.
        local_rank: of this process among those of its machine.
        group: with a long timeout, for waiting while rank 0 extracts features.
        statistics: group for batch norms, whose messages overlap with those of gradients.
        replicated: whether every rank has all rows of the current computation; used by batch norms.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    group: Any = None
    statistics: Any = None
    replicated: bool = True

    @property
    def is_single(self) -> bool:
        """Whether there is only one process."""
        return self.size == 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes."""
        return self.rank == 0

    def share(self, count: int) -> Share:
        """This process's share of `count` rows."""
        return split_rows(count, self.rank, self.size)

    def shared_rows(self, rows: np.ndarray) -> list[np.ndarray]:
        """The rows of each rank, in the order of ranks."""
        return [rows[split_rows(len(rows), rank, self.size).rows] for rank in range(self.size)]

    def sum(self, own: Tensor) -> Tensor:
        """Sum of the values of all ranks, with gradients: [] → []."""
        return sum_ranks(own, self.rank, self.size)

    def broadcast(self, value: T) -> T:
        """Rank 0's value, on all ranks."""
        if self.is_single:
            return value
        values = [value]
        distributed.broadcast_object_list(values, 0, self.group)
        return values[0]

    def gather_objects(self, value: T) -> list[T]:
        """The values of all ranks, in order."""
        found: list[Any] = [value] * self.size
        if not self.is_single:
            distributed.all_gather_object(found, value, self.group)
        return found

    @contextmanager
    def local_main_first(self) -> Iterator[None]:
        """Let one process per machine go first; the others then find its results in caches."""
        if self.is_single:
            yield
            return
        if self.local_rank:
            distributed.barrier(self.group)
        yield
        if not self.local_rank:
            distributed.barrier(self.group)


SINGLE = World()
"""A training in one process."""
