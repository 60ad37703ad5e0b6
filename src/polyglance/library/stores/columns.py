"""Images as Arrow columns, as stored by LanceDB and Parquet."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyglance.library.record import Caption, Record, Stamp, path_text

CAPTION = pa.struct([("language", pa.string()), ("text", pa.string())])
FIELDS = [
    ("id", pa.string()),
    ("content", pa.string()),
    ("path", pa.string()),
    ("path_bytes", pa.binary()),  # if the path is not valid Unicode
    ("size", pa.int64()),
    ("mtime_ns", pa.int64()),
    ("inode", pa.uint64()),
    ("width", pa.int32()),
    ("height", pa.int32()),
    ("taken", pa.timestamp("us")),
    ("latitude", pa.float64()),
    ("longitude", pa.float64()),
    ("captions", pa.list_(CAPTION)),
    ("languages", pa.list_(pa.string())),
    ("tags", pa.list_(pa.string())),
    ("looks", pa.uint64()),
    ("second", pa.float64()),
]
METADATA = [name for name, _ in FIELDS]
_COLUMNS = 32
"""Columns reordered at a time."""


def schema(dim: int | None = None) -> pa.Schema:
    """Schema of images; with a dimension, also of their vectors."""
    vector = [] if dim is None else [("vector", pa.list_(pa.float32(), dim))]
    return pa.schema([*FIELDS, *vector])


def to_table(records: Sequence[Record], vectors: np.ndarray | None = None) -> pa.Table:
    """Images and, if passed, their vectors [n, D] as a table."""
    rows = [_row(record) for record in records]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in METADATA}
    if vectors is None:
        return pa.table(columns, schema())
    dim = vectors.shape[1]
    flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, dim)
    return pa.table(columns, schema(dim))


def _row(record: Record) -> dict[str, Any]:
    exact = os.fsencode(record.path)
    text = path_text(record.path)
    return {
        "id": record.id,
        "content": record.content,
        "path": text,
        "path_bytes": None if text.encode() == exact else exact,
        **record.stamp._asdict(),
        "width": record.width,
        "height": record.height,
        "taken": record.taken,
        "latitude": record.latitude,
        "longitude": record.longitude,
        "captions": [caption._asdict() for caption in record.captions],
        "languages": list(record.languages),
        "tags": list(record.tags),
        "looks": record.perceptual_hash,
        "second": record.second,
    }


def to_records(table: pa.Table) -> Iterator[Record]:
    """The images of a table with all columns of `METADATA`."""
    for row in table.select(METADATA).to_pylist():
        yield Record(
            id=row["id"],
            content=row["content"],
            path=exact_path(row["path"], row["path_bytes"]),
            stamp=Stamp(row["size"], row["mtime_ns"], row["inode"]),
            width=row["width"],
            height=row["height"],
            taken=row["taken"],
            latitude=row["latitude"],
            longitude=row["longitude"],
            captions=tuple(Caption(**caption) for caption in row["captions"] or ()),
            tags=tuple(row["tags"] or ()),
            perceptual_hash=row["looks"],
            second=row["second"],
        )


def exact_path(text: str, exact: bytes | None) -> str:
    """A path as the system knows it."""
    return text if exact is None else os.fsdecode(exact)


def gather(batches: Iterable[pa.RecordBatch], count: int, dim: int) -> tuple[np.ndarray, pa.Table]:
    """Vectors float32 [n, D] and metadata in the order of the paths, without copying all vectors.

    Args:
        batches: with the columns of `METADATA` and `vector`.
        count: approximate number of rows.
        dim: dimension of the vectors.
    """
    vectors, end, tables = np.empty((count, dim), np.float32), 0, [schema().empty_table()]
    for batch in batches:
        start, end = end, end + len(batch)
        if end > len(vectors):
            vectors = np.concatenate([vectors[:start], np.empty((end, dim), np.float32)])
        table = pa.Table.from_batches([batch])
        vectors[start:end] = vectors_of(table)
        # A copy, as a slice would keep the whole batch in memory.
        tables.append(table.select(METADATA).take(np.arange(len(batch))))
    rows = pa.concat_tables(tables)
    order = pc.sort_indices(rows["path"])
    reorder(vectors[:end], order.to_numpy())
    return vectors[:end], rows.take(order).combine_chunks()


def reorder(vectors: np.ndarray, order: np.ndarray) -> None:
    """Reorder rows [n, D] in place, a few columns at a time, to save the memory of a copy.

    >>> rows = np.array([[1, 2], [3, 4], [5, 6]])
    >>> reorder(rows, np.array([2, 0, 1]))
    >>> rows.tolist()
    [[5, 6], [1, 2], [3, 4]]
    """
    for start in range(0, vectors.shape[1], _COLUMNS):
        part = vectors[:, start : start + _COLUMNS]
        part[:] = part[order]


def vectors_of(table: pa.Table) -> np.ndarray:
    """The column `vector` as float32 [n, D]."""
    column = table["vector"]
    parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    flat = np.concatenate(parts) if parts else np.empty(0, np.float32)
    return flat.reshape(len(column), column.type.list_size)
