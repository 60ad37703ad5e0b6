"""Batches concurrent requests."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Closed(RuntimeError):
    """The batcher no longer accepts items."""


@dataclass(slots=True)
class _Waiting(Generic[T, R]):
    key: Hashable
    item: T
    answer: "Future[R]"


class Batcher(Generic[T, R]):
    """Makes a batch function callable with single items, from any number of threads.

    A thread takes all waiting items whenever it is free, without waiting for a batch to fill. Items
    with different keys go into different batches. Single items take precedence over those passed
    to `many`, so that a large request delays others by at most one batch.
    """

    def __init__(
        self,
        run: Callable[[Hashable, list[T]], Sequence[R]],
        most: int,
        on_batch: Callable[[int], object] | None = None,
    ) -> None:
        """
        Args:
            run: key and items → results, in order.
            most: largest batch.
            on_batch: called with the size of each batch.
        """
        self._run, self._most, self._on_batch = run, most, on_batch
        self._lanes: tuple[deque[_Waiting[T, R]], ...] = (deque(), deque())
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __call__(self, key: Hashable, item: T) -> R:
        """The result for one item; raises what `run` raises for it."""
        return self._put(0, key, [item])[0].result()

    def many(self, key: Hashable, items: Sequence[T]) -> list[R]:
        """Results for several items, in order."""
        return [answer.result() for answer in self._put(1, key, items)]

    def close(self) -> None:
        """Stop the thread after the waiting items are done."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _put(self, lane: int, key: Hashable, items: Sequence[T]) -> "list[Future[R]]":
        waiting = [_Waiting[T, R](key, item, Future()) for item in items]
        with self._changed:
            if self._closed:
                raise Closed("the batcher is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)
                self._thread.start()
            self._lanes[lane].extend(waiting)
            self._changed.notify()
        return [one.answer for one in waiting]

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            self._answer(batch)

    def _next(self) -> "list[_Waiting[T, R]] | None":
        """The next batch; None if the batcher is closed."""
        with self._changed:
            while not any(self._lanes):
                if self._closed:
                    return None
                self._changed.wait()
            key = next(lane for lane in self._lanes if lane)[0].key
            batch: list[_Waiting[T, R]] = []
            for lane in self._lanes:
                others: list[_Waiting[T, R]] = []
                while lane and len(batch) < self._most:
                    one = lane.popleft()
                    (batch if one.key == key else others).append(one)
                lane.extendleft(reversed(others))
            return batch

    def _answer(self, batch: "list[_Waiting[T, R]]") -> None:
        if self._on_batch is not None:
            self._on_batch(len(batch))
        try:
            found = self._run(batch[0].key, [one.item for one in batch])
            for one, result in zip(batch, found, strict=True):
                one.answer.set_result(result)
        except BaseException as error:
            if len(batch) == 1:
                batch[0].answer.set_exception(error)
                return
            # One item may be at fault; compute them separately, so that the others succeed.
            for one in batch:
                if not one.answer.done():
                    self._answer([one])
