"""Requests with pictures wait in a line of their own, not in the threads that searches need."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from polyglance.serve.problems import Problem

R = TypeVar("R")
MEMORY = 256_000_000
"""Bytes of what waits in a lane."""
LATER = 5
"""Seconds after which one who was turned away may ask again."""


class Lane:
    """Some threads, and a line before them that is bounded by its length and its bytes."""

    def __init__(self, threads: int, longest: int, memory: int = MEMORY) -> None:
        """
        Args:
            threads: requests that are answered at a time.
            longest: requests that are in the lane at a time, those that are answered among them.
            memory: bytes that they may have together; one that is alone may have more.
        """
        self._threads = ThreadPoolExecutor(threads, "lane")
        self._longest, self._memory = longest, memory
        self._requests = self._bytes = 0
        self._lock = threading.Lock()

    async def run(self, size: int, function: Callable[..., R], *given: object) -> R:
        """What a function gives, when it is its turn; turned away where the line is full.

        Args:
            size: bytes that the request holds while it waits.
            function: is called in a thread.
            given: its arguments.
        """
        with self._place(size):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, function, *given)

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _place(self, size: int) -> Iterator[None]:
        with self._lock:
            full = self._requests >= self._longest or self._bytes + size > self._memory
            if self._requests and full:
                raise Problem(
                    503,
                    f"too many pictures come at once; try again in {LATER} s",
                    {"retry-after": str(LATER)},
                )
            self._requests += 1
            self._bytes += size
        try:
            yield
        finally:
            with self._lock:
                self._requests -= 1
                self._bytes -= size
