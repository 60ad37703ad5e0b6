"""Sequences laid end to end, against lists of lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.numerics.ragged import Ragged, pad

LISTS = st.lists(st.lists(st.integers(1, 99), max_size=6), min_size=1, max_size=12)


def lists_of(found):
    return [found[i].tolist() for i in range(len(found))]


@given(LISTS, st.data())
def test_rows_are_those_of_a_list_of_lists(rows, data):
    found = Ragged.join(rows)
    assert lists_of(found) == rows == [one.tolist() for one in found]
    assert found.lengths.tolist() == [len(row) for row in rows]
    assert (found.flat.dtype, found.offsets.dtype) == (np.int32, np.int64)
    chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1)))
    assert lists_of(found[np.array(chosen, np.int64)]) == [rows[i] for i in chosen]
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    assert lists_of(found[start:stop]) == rows[start:stop]
    assert (
        lists_of(Ragged.concatenate([found[start:], found[:start]])) == rows[start:] + rows[:start]
    )


@given(LISTS, st.integers(-1, 3), st.data())
def test_pad_is_what_a_loop_does(rows, value, data):
    found = Ragged.join(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    ids, sizes = found.pad(np.array(chosen, np.int64), value)
    width = max((len(rows[i]) for i in chosen), default=0)
    assert ids.tolist() == [rows[i] + [value] * (width - len(rows[i])) for i in chosen]
    assert sizes.tolist() == [len(rows[i]) for i in chosen]
    assert ids.shape == (len(chosen), width)
    assert ids.dtype == sizes.dtype == np.int64
    assert lists_of(Ragged.from_padded(*found.pad())) == rows


def test_pad_keeps_what_is_not_an_integer():
    offsets, rows = np.array([0, 1, 3]), np.array([1, 0])
    flags, lengths = pad(np.array([True, True, False]), offsets, rows)
    assert (flags.dtype, flags.tolist()) == (np.dtype(bool), [[True, False], [True, False]])
    vectors, _ = pad(np.arange(6, dtype=np.float32).reshape(3, 2), offsets, rows)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[[2, 3], [4, 5]], [[0, 1], [0, 0]]]
    assert lengths.tolist() == [2, 1]


def test_offsets_that_do_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        Ragged(np.arange(3), np.array([0, 2]))
    with pytest.raises(ValueError, match="do not fit"):
        Ragged(np.arange(0), np.array([], np.int64))
    with pytest.raises(IndexError):
        Ragged.join([[1]])[1]
