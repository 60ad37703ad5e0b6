"""Tables in few bits: what is lost, and where nothing is."""

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.runtime.encoding.tables import BLOCK, StoredTable, store_table

DRAW = np.random.default_rng(0)
ROWS = DRAW.normal(size=(50, 2 * BLOCK)).astype(np.float32)


def stored(rows: np.ndarray, bits: int, spacing: np.ndarray | None = None) -> StoredTable:
    tensors = store_table("t", rows, bits, spacing)  # type: ignore[arg-type]
    return StoredTable(tensors, "t", rows.shape[1], "file")


def size(rows: np.ndarray, bits: int, spacing: np.ndarray | None = None) -> int:
    return sum(part.nbytes for part in store_table("t", rows, bits, spacing).values())  # type: ignore[arg-type]


@pytest.mark.parametrize(("bits", "lost"), [(32, 0.0), (16, 1e-6), (8, 1e-4), (4, 0.012)])
def test_the_squared_error_of_normal_numbers(bits: int, lost: float) -> None:
    table = stored(ROWS, bits)
    some = np.array([3, 3, 0, 49])
    found = table(some)
    assert found.dtype == np.float32
    assert np.square(found - ROWS[some]).mean() <= lost
    np.testing.assert_array_equal(table(np.arange(50))[some], found)
    assert (len(table), table(np.array([], int)).shape) == (50, (0, 2 * BLOCK))


def test_four_bits_are_better_than_the_whole_range_alone() -> None:
    blocks = ROWS.reshape(50, 2, BLOCK)
    low = blocks.min(2, keepdims=True)
    step = (blocks.max(2, keepdims=True) - low) / 15
    plain = np.rint((blocks - low) / step) * step + low
    error = np.square(plain.reshape(ROWS.shape) - ROWS).mean()
    assert np.square(stored(ROWS, 4)(np.arange(50)) - ROWS).mean() < 0.9 * error


def test_sizes() -> None:
    assert size(ROWS, 32) == 4 * ROWS.size
    assert size(ROWS, 16) == 2 * ROWS.size
    assert size(ROWS, 8) == ROWS.size + 50 * 8
    assert size(ROWS, 4) == ROWS.size // 2 + 50 * 2 * 4


@pytest.mark.parametrize("bits", [4, 8, 16, 32])
def test_numbers_on_a_grid_lose_nothing_where_they_fit(bits: int) -> None:
    spacing = DRAW.uniform(0.1, 0.7, 30).astype(np.float32)
    levels = DRAW.integers(0, 16, (30, 64)) + DRAW.integers(0, 48, (30, 1))
    rows = (levels * spacing[:, None] - 4).astype(np.float32)
    np.testing.assert_allclose(stored(rows, bits, spacing)(np.arange(30)), rows, atol=1e-5)
    assert size(rows, 32, spacing) == size(rows, 8, spacing) == rows.size + 30 * 8


def test_rare_numbers_far_away_on_a_grid_are_cut_or_spread() -> None:
    levels = np.clip(np.rint(DRAW.normal(32, 2, (40, 512))), 0, 63)
    levels[:, 0] = 63
    rows = (levels * 0.25).astype(np.float32)
    found = stored(rows, 4, np.full(40, 0.25, np.float32))(np.arange(40))
    lowest = rows.min(1, keepdims=True)
    cut = np.minimum(rows, lowest + 15 * 0.25)
    doubled = np.minimum(np.rint((rows - lowest) / 0.5), 15) * 0.5 + lowest
    for other in (cut, doubled):
        lost = np.square(other - rows).sum(1)
        assert (np.square(found - rows).sum(1) <= lost + 1e-3).all()
    eight = stored(rows, 8, np.full(40, 0.25, np.float32))(np.arange(40))
    np.testing.assert_allclose(eight, rows, atol=1e-5)


def test_rows_of_one_number_are_that_number() -> None:
    rows = np.full((2, 8), 1.5, np.float32)
    for bits in (4, 8):
        np.testing.assert_allclose(stored(rows, bits)(np.array([1])), rows[:1], atol=1e-3)


def test_an_odd_number_of_numbers_does_not_fit_into_half_bytes() -> None:
    with pytest.raises(PolyglanceError, match="even dimension, not 7"):
        store_table("t", np.ones((2, 7), np.float32), 4)


@pytest.mark.parametrize(
    "change",
    [
        {"t.codes": None},
        {"t.low": None},
        {"t.low": np.zeros((50, 3), np.float32), "t.step": np.zeros((50, 3), np.float32)},
        {"t.step": np.zeros((49, 1), np.float32)},
        {"t.codes": np.zeros((50, 5), np.uint8)},
        {"t.codes": np.zeros((50, 256), np.float32)},
    ],
)
def test_other_tensors_are_refused(change: dict[str, np.ndarray | None]) -> None:
    tensors = {**store_table("t", ROWS, 8), **change}
    given = {name: value for name, value in tensors.items() if value is not None}
    with pytest.raises(PolyglanceError, match="file: not the table 't' of dimension 256"):
        StoredTable(given, "t", 256, "file")
