"""Sets of vectors without padding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.numerics.sets import VectorSets


def make(lengths, seed=0, dim=3):
    generator = np.random.default_rng(seed)
    sets = [generator.standard_normal((n, dim)).astype(np.float32) for n in lengths]
    return VectorSets.from_lengths(
        np.concatenate([np.empty((0, dim)), *sets]), np.array(lengths, int)
    ), sets


def assert_same(found, expected):
    assert found.lengths.tolist() == [len(one) for one in expected]
    flat = np.concatenate(expected) if expected else np.empty((0, found.dim))
    np.testing.assert_array_equal(found.flat, flat)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_rows_are_those_of_a_list_of_arrays(lengths, data):
    found, sets = make(lengths)
    rows = data.draw(st.lists(st.integers(0, len(sets) - 1), max_size=10))
    assert_same(found[np.array(rows, int)], [sets[i] for i in rows])
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(sets))] * 2)))
    assert_same(found[start:stop], sets[start:stop])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets))))
    assert_same(found[mask], [one for one, keep in zip(sets, mask, strict=True) if keep])
    assert_same(VectorSets.concatenate([found[:start], found[start:]]), sets)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.randoms())
def test_filled_in_any_order_and_padded(lengths, random):
    found, _ = make(lengths)
    order = list(range(len(lengths)))
    random.shuffle(order)
    filled = VectorSets.empty(found.lengths, found.dim)
    for part in (order[: len(order) // 2], order[len(order) // 2 :]):
        filled[np.array(part, int)] = found[np.array(part, int)]
    np.testing.assert_array_equal(filled.flat, found.flat)
    np.testing.assert_array_equal(VectorSets.from_padded(*found.pad()).flat, found.flat)


def test_a_run_of_rows_is_not_copied():
    found, _ = make([2, 1, 3])
    assert np.shares_memory(found[np.array([1, 2])].flat, found.flat)


def test_missing_and_infinite_sets_are_found():
    found, _ = make([2, 0, 1])
    found.flat[2, 1] = np.inf
    assert found.finite().tolist() == [True, False, False]


def test_wrong_sizes_and_wrong_use():
    found, _ = make([2, 1])
    with pytest.raises(ValueError, match="do not fit"):
        VectorSets.from_lengths(found.flat, np.array([2, 2]))
    with pytest.raises(ValueError, match="different lengths"):
        found[0:1] = found[1:2]
    with pytest.raises(ValueError, match=r"do not fit \[total, D\]"):
        VectorSets(np.zeros(3), np.array([0, 3]))
    with pytest.raises(PolyglanceError, match="no single vector per image"):
        np.asarray(found)
