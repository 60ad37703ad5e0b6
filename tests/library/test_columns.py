"""Rows that come in batches, put into the order of their paths."""

import numpy as np
import pytest

from polyglance.library.record import Record, Stamp

columns = pytest.importorskip("polyglance.library.stores.columns")


@pytest.mark.parametrize("count", [0, 5, 9])
def test_batches_are_gathered_in_the_order_of_the_paths(count: int) -> None:
    """However many rows were announced."""
    names = ["d", "b", "e", "a", "c"]
    vectors = np.arange(5 * 70, dtype=np.float32).reshape(5, 70)
    records = [Record(n, n, f"/{n}.jpg", Stamp(1, 1, 1), 9, 9, tags=(n,)) for n in names]
    batches = columns.to_table(records, vectors).to_batches(max_chunksize=2)
    found, rows = columns.gather(batches, count, 70)
    assert rows["id"].to_pylist() == sorted(names)
    assert rows["tags"].to_pylist() == [[name] for name in sorted(names)]
    np.testing.assert_array_equal(found, vectors[[3, 1, 4, 0, 2]])


def test_no_rows() -> None:
    found, rows = columns.gather([], 0, 4)
    assert (found.shape, len(rows), rows.column_names) == ((0, 4), 0, columns.METADATA)
