"""The processes of one training, each with its rank."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import distributed

from polyglance.training.distributed.share import Share, split_rows

T = TypeVar("T")


@dataclass
class Team:
    """The processes that train one model; `rank` 0 writes, and all compute.

    Args:
        rank: this process, from 0.
        size: how many there are.
        local_rank: this process among those of its machine.
        group: of processes that may wait long for each other: a rank 0 that extracts features.
        statistics: the group of batch norms, whose exchanges mix with those of gradients.
        whole: whether every rank has all rows of what is computed now; batch norms ask.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    group: Any = None
    statistics: Any = None
    whole: bool = True

    @property
    def alone(self) -> bool:
        """Whether there is but one process."""
        return self.size == 1

    @property
    def leads(self) -> bool:
        """Whether this process writes."""
        return self.rank == 0

    def share(self, count: int) -> Share:
        """What this process has of `count` rows."""
        return split_rows(count, self.rank, self.size)

    def agreed(self, value: T) -> T:
        """Rank 0's value, on all."""
        if self.alone:
            return value
        values = [value]
        distributed.broadcast_object_list(values, 0, self.group)
        return values[0]

    def all_of(self, value: T) -> list[T]:
        """The values of all ranks, in their order."""
        found: list[Any] = [value] * self.size
        if not self.alone:
            distributed.all_gather_object(found, value, self.group)
        return found

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """One process of every machine first, then the others find what it has left in caches."""
        if self.alone:
            yield
            return
        if self.local_rank:
            distributed.barrier(self.group)
        yield
        if not self.local_rank:
            distributed.barrier(self.group)


ALONE = Team()
"""A training in one process."""
