"""Converts a `Filter` to LanceDB's SQL, and to a mask over columns in memory."""

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyglance.library.filters import Filter


def to_sql(where: Filter) -> str | None:
    """The condition, or None if it matches all images."""
    parts = [f"array_has(tags, {quote(tag)})" for tag in where.tags]
    if where.prefix is not None:
        parts.append(f"starts_with(path, {quote(where.prefix)})")
    if where.since is not None:
        parts.append(f"taken >= {_timestamp(where.since)}")
    if where.before is not None:
        parts.append(f"taken < {_timestamp(where.before)}")
    if where.language is not None:
        parts.append(f"array_has(languages, {quote(where.language)})")
    if where.smallest is not None:
        parts.append(f"width >= {int(where.smallest)} AND height >= {int(where.smallest)}")
    return " AND ".join(parts) or None


def quote(text: str) -> str:
    """A string literal in SQL.

    >>> quote("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _timestamp(moment: datetime) -> str:
    return f"timestamp '{moment.isoformat(sep=' ', timespec='microseconds')}'"


def to_mask(where: Filter, table: pa.Table) -> np.ndarray | None:
    """Which rows of a table with the columns of a filter match; None if all do."""
    masks = [_holds(table["tags"], tag) for tag in where.tags]
    if where.language is not None:
        masks.append(_holds(table["languages"], where.language))
    if where.prefix is not None:
        masks.append(_true(pc.starts_with(table["path"], pattern=where.prefix)))
    if where.since is not None:
        masks.append(_true(pc.greater_equal(table["taken"], _scalar(where.since))))
    if where.before is not None:
        masks.append(_true(pc.less(table["taken"], _scalar(where.before))))
    if where.smallest is not None:
        for side in ("width", "height"):
            masks.append(_true(pc.greater_equal(table[side], where.smallest)))
    return np.logical_and.reduce(masks) if masks else None


def _scalar(moment: datetime) -> pa.Scalar:
    return pa.scalar(moment, pa.timestamp("us"))


def _true(found: pa.ChunkedArray) -> np.ndarray:
    return pc.fill_null(found, False).to_numpy()


def _holds(lists: pa.ChunkedArray, wanted: str) -> np.ndarray:
    """Which lists contain a string."""
    mask = np.zeros(len(lists), bool)
    parents = pc.list_parent_indices(lists).to_numpy()
    mask[parents[_true(pc.equal(pc.list_flatten(lists), wanted))]] = True
    return mask
