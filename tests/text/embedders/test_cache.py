"""Values met lately: bounded, the longest unused go first, right under threads."""

import copy
import pickle
from collections import OrderedDict
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.embedders.cache import LRU
from tests.text.threads import at_once


@given(st.integers(1, 6), st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=12))
def test_against_an_ordered_dictionary(limit: int, calls: list[list[int]]) -> None:
    cache: LRU[int] = LRU(limit)
    expected: OrderedDict[int, int] = OrderedDict()
    for keys in calls:
        asked: list[int] = []

        def square(missing: list[int], asked: list[int] = asked) -> Sequence[int]:
            asked += missing
            return [key * key for key in missing]

        assert cache.get(keys, square) == [key * key for key in keys]
        distinct = list(dict.fromkeys(keys))
        assert asked == [key for key in distinct if key not in expected]
        for key in [key for key in distinct if key in expected]:
            expected.move_to_end(key)
        for key in asked:
            expected[key] = key * key
        while len(expected) > limit:
            expected.popitem(last=False)
        assert len(cache) == len(expected) <= limit
        assert {key for key in range(10) if key in cache} == set(expected)


def test_cleared_and_copied_caches_are_empty() -> None:
    cache: LRU[int] = LRU(3)
    cache.get([1, 2], lambda keys: keys)
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert (len(other), other.limit) == (0, 3)
        assert other.get([5], lambda keys: keys) == [5]
        assert 5 not in cache
    cache.clear()
    assert len(cache) == 0


def test_a_failure_leaves_existing_values_unchanged() -> None:
    cache: LRU[int] = LRU(3)
    cache.get([1], lambda keys: [10])
    with pytest.raises(ZeroDivisionError):
        cache.get([1, 2], lambda keys: [1 // 0])
    assert cache.get([1], lambda keys: [99]) == [10]
    assert 2 not in cache
    with pytest.raises(ValueError, match="zip"):
        cache.get([2, 3], lambda keys: [1])


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("limit", [1, 5, 500])
def test_threads_get_their_own_results(limit: int) -> None:
    cache: LRU[str] = LRU(limit)

    def work(thread: int) -> bool:
        for start in range(200):
            keys = [(start * 7 + i * (thread + 1)) % 40 for i in range(6)]
            if cache.get(keys, lambda missing: list(map(str, missing))) != list(map(str, keys)):
                return False
        return len(cache) <= limit

    assert all(at_once(work))
    assert len(cache) <= limit
