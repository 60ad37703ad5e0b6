"""Requests that come at the same time are computed together."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Closed(RuntimeError):
    """Nothing is computed any more."""


@dataclass(slots=True)
class _Waiting(Generic[T, R]):
    key: Hashable
    item: T
    answer: "Future[R]"


class Batcher(Generic[T, R]):
    """A function of many items as a function of one, which any number of threads may call.

    A thread of its own takes all that waits whenever it is free: nobody waits for a batch to
    fill. Items with another key go into another batch. Single items go before those that come
    by `many`, so that a large request keeps nobody waiting for longer than one batch.
    """

    def __init__(
        self,
        run: Callable[[Hashable, list[T]], Sequence[R]],
        most: int,
        told: Callable[[int], object] | None = None,
    ) -> None:
        """
        Args:
            run: key and items → results, in order.
            most: items of a batch.
            told: is told how many items each batch has.
        """
        self._run, self._most, self._told = run, most, told
        self._lanes: tuple[deque[_Waiting[T, R]], ...] = (deque(), deque())
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __call__(self, key: Hashable, item: T) -> R:
        """The result of one item; what `run` raises for it is raised here."""
        return self._put(0, key, [item])[0].result()

    def many(self, key: Hashable, items: Sequence[T]) -> list[R]:
        """Results of several items, in order."""
        return [answer.result() for answer in self._put(1, key, items)]

    def close(self) -> None:
        """End the thread when what waits is done."""
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
        """What is computed next; None where nothing will be."""
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
        if self._told is not None:
            self._told(len(batch))
        try:
            found = self._run(batch[0].key, [one.item for one in batch])
            for one, result in zip(batch, found, strict=True):
                one.answer.set_result(result)
        except BaseException as error:
            if len(batch) == 1:
                batch[0].answer.set_exception(error)
                return
            # One of them is at fault, and the others shall not suffer for it.
            for one in batch:
                if not one.answer.done():
                    self._answer([one])
