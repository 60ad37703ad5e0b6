"""Queues for large requests, so that they do not occupy the threads of searches."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from polyglance.serve.problems import Problem

R = TypeVar("R")
MEMORY = 256_000_000
"""Largest size in bytes of the requests waiting in a lane."""
LATER = 5
"""Seconds after which a rejected client may try again."""


class Lane:
    """A few threads with a queue, limited in length and bytes."""

    def __init__(self, threads: int, longest: int, memory: int = MEMORY) -> None:
        """
        Args:
            threads: requests processed at a time.
            longest: largest number of requests in the lane, including those being processed.
            memory: their largest total size in bytes; a single request may be larger.
        """
        self._threads = ThreadPoolExecutor(threads, "lane")
        self._longest, self._memory = longest, memory
        self._requests = self._bytes = 0
        self._lock = threading.Lock()

    async def run(self, size: int, function: Callable[..., R], *given: object) -> R:
        """Run a function in a thread when it is its turn; rejected if the queue is full.

        Args:
            size: of the waiting request in bytes.
            function: to call.
            given: its arguments.
        """
        with self._place(size):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, function, *given)

    def close(self) -> None:
        """Start nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _place(self, size: int) -> Iterator[None]:
        with self._lock:
            full = self._requests >= self._longest or self._bytes + size > self._memory
            if self._requests and full:
                raise Problem(
                    503,
                    f"too many images or texts at once; try again in {LATER} s",
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
