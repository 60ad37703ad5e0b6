"""Items of several threads in one batch."""

import threading
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor

import pytest

from polyglance.serve.encoding.batching import Batcher


class Held:
    """A function that waits to be let go, so that items gather behind its first batch."""

    def __init__(self) -> None:
        self.batches: list[tuple[Hashable, list[int]]] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, key: Hashable, items: list[int]) -> list[int]:
        self.batches.append((key, list(items)))
        self.begun.set()
        assert self.go.wait(60)
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def waiting(batcher: Batcher[int, int], count: int) -> None:
    """Come back when so many items wait."""
    while sum(map(len, batcher._lanes)) < count:
        threading.Event().wait(0.001)


def test_what_waits_is_computed_together_by_key_and_single_items_first() -> None:
    held = Held()
    batcher: Batcher[int, int] = Batcher(held, 3)
    with ThreadPoolExecutor(10) as pool:
        first = pool.submit(batcher, "a", 0)
        assert held.begun.wait(60)
        many = pool.submit(batcher.many, "a", [10, 11, 12])
        waiting(batcher, 3)
        other = pool.submit(batcher, "b", 5)
        waiting(batcher, 4)
        single = pool.submit(batcher, "a", 1)
        waiting(batcher, 5)
        held.go.set()
        assert (first.result(), other.result(), single.result()) == (0, 10, 2)
        assert many.result() == [20, 22, 24]
    assert held.batches == [("a", [0]), ("b", [5]), ("a", [1, 10, 11]), ("a", [12])]
    batcher.close()


def test_an_item_at_fault_is_alone_in_it() -> None:
    held, sizes = Held(), []
    batcher: Batcher[int, int] = Batcher(held, 8, sizes.append)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(batcher, None, 0)
        assert held.begun.wait(60)
        others = [pool.submit(batcher, None, item) for item in (1, 13, 2)]
        waiting(batcher, 3)
        held.go.set()
        assert first.result() == 0
        assert [others[0].result(), others[2].result()] == [2, 4]
        with pytest.raises(ValueError, match="13"):
            others[1].result()
    assert sizes[:2] == [1, 3]
    batcher.close()


def test_a_closed_batcher_finishes_waiting_items_and_takes_no_more() -> None:
    held = Held()
    batcher: Batcher[int, int] = Batcher(held, 1)
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(batcher, None, item) for item in (1, 2)]
        assert held.begun.wait(60)
        waiting(batcher, 1)
        held.go.set()
        batcher.close()
        assert sorted(answer.result() for answer in answers) == [2, 4]
    with pytest.raises(RuntimeError, match="closed"):
        batcher(None, 3)
