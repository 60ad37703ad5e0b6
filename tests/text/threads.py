"""Work that several threads do at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

THREADS = 6
T = TypeVar("T")


def at_once(work: Callable[[int], T]) -> list[T]:
    """What `work` gives to each of some threads that start together."""
    barrier = Barrier(THREADS)

    def start(number: int) -> T:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))
