"""Parquet tables with a column of images: their bytes or their locations."""

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from polyglance.collection.plan import Damaged
from polyglance.errors import PolyglanceError
from polyglance.storage.folders import Folder, absolute, is_remote

BYTES = ("image", "bytes", "jpg", "jpeg", "png", "webp", "image_bytes", "content")
PLACES = ("url", "image_url", "uri", "path", "image_path", "file_name", "filename")
"""Default columns; the first that exists is used."""
CAPTIONS = ("caption", "text", "txt", "sentence")
SCHEMES = ("http", "https", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "hf")
"""Protocols allowed for locations in a table, besides that of the table itself."""
AT_A_TIME = 32
"""Rows read at a time."""


class Row(NamedTuple):
    """A row: the bytes of an image or its location; neither if the cell is empty."""

    number: int
    """Index in the whole table."""
    data: bytes | None
    place: str | None
    caption: str | None


def open_table(place: str) -> Any:
    """Open a local or remote Parquet file; anything else is an error."""
    import pyarrow.parquet as parquet

    folder = Folder(posixpath.dirname(place))
    try:
        return parquet.ParquetFile(
            folder.inner(posixpath.basename(place)), filesystem=folder.arrow, pre_buffer=False
        )
    except Exception as error:  # Arrow raises many types
        reason = str(error).splitlines()[0]
        raise PolyglanceError(f"{place}: not a readable Parquet file ({reason})") from None


def choose_column(place: str, schema: Any, column: str = "") -> str:
    """The column with the images; the error lists the existing columns.

    Args:
        place: names the table in errors.
        schema: Arrow schema.
        column: as the user named it; "" selects a default column.
    """
    fits = {field.name for field in schema if _kind(field.type)}
    if column:
        if column in fits:
            return column
        known = column in schema.names
        wrong = f"is {schema.field(column).type}, not bytes or text" if known else "does not exist"
        raise PolyglanceError(f"{place}: the column '{column}' {wrong}; choose from {schema.names}")
    for name in (*BYTES, *PLACES):
        if name in fits:
            return name
    raise PolyglanceError(
        f"{place}: which column has the images? Name it with --column, from {schema.names}"
    )


def _kind(kind: Any) -> str | None:
    """ "bytes", "text", or "both" for a struct as in Hugging Face datasets."""
    import pyarrow.types as types

    if types.is_binary(kind) or types.is_large_binary(kind):
        return "bytes"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_struct(kind) and "bytes" in {kind.field(i).name for i in range(kind.num_fields)}:
        return "both"
    return None


@contextmanager
def _damage_reported(place: str) -> Iterator[None]:
    try:
        yield
    except PolyglanceError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and is_remote(place):
            raise  # perhaps the network
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Damaged(f"the table is damaged ({reason})") from None


def read_rows(place: str, groups: tuple[int, int], column: str) -> Iterator[Row]:
    """The rows of some row groups of a table, in order.

    Args:
        place: location of the table.
        groups: first row group, and one past the last.
        column: with the images; "" selects a default column.
    """
    with _damage_reported(place):
        file = open_table(place)
        schema = file.schema_arrow
        name = choose_column(place, schema, column)
        texts = [one for one in CAPTIONS if one in schema.names and one != name]
        texts = [one for one in texts if _kind(schema.field(one).type) == "text"][:1]
        number = sum(file.metadata.row_group(group).num_rows for group in range(groups[0]))
        for batch in file.iter_batches(AT_A_TIME, list(range(*groups)), [name, *texts]):
            captions = batch.column(texts[0]).to_pylist() if texts else [None] * len(batch)
            cells = batch.column(batch.schema.get_field_index(name)).to_pylist()
            for cell, caption in zip(cells, captions, strict=True):
                yield _row(number, cell, caption)
                number += 1


def _row(number: int, cell: Any, caption: str | None) -> Row:
    if isinstance(cell, dict):
        cell = cell.get("bytes") or cell.get("path")
    if isinstance(cell, bytes):
        return Row(number, cell, None, caption)
    return Row(number, None, cell if isinstance(cell, str) and cell.strip() else None, caption)


def locate(table: str, place: str) -> str:
    """The full location of an image named in a row; `ValueError` if it is not allowed.

    Relative paths start at the table's folder. A remote table cannot refer to local files.

    Args:
        table: full location of the table.
        place: as given in the row.

    >>> locate("/a/t.parquet", "b/c.jpg"), locate("s3://a/t.parquet", "https://b/c.jpg")
    ('/a/b/c.jpg', 'https://b/c.jpg')
    """
    own = table.partition("://")[0] if is_remote(table) else ""
    if "::" in place:
        raise ValueError("'::' would combine file systems")
    if is_remote(place):
        scheme = place.partition("://")[0]
        if scheme not in SCHEMES and scheme != own:
            raise ValueError(f"'{scheme}://' is not one of {', '.join(SCHEMES)}")
        return place
    if not own:
        path = absolute(place) if place.startswith("file://") else place
        return posixpath.normpath(posixpath.join(posixpath.dirname(table), path))
    if place.startswith(("/", "file:")) or ".." in place.split("/"):
        raise ValueError("a remote table refers to a local file")
    return f"{posixpath.dirname(table)}/{place}"
