"""Exports a library's metadata and embeddings to files for other programs."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.library import Library
from polyglance.library.record import Record
from polyglance.storage.files import atomic

_FILE = ("id", "path", "path_base64", "content", "size", "modified", "width", "height")
COLUMNS = (*_FILE, "taken", "latitude", "longitude", "captions", "tags", "second")
"""Columns of a CSV file."""


def export_library(
    library: Library, path: Path, vectors: Path | None = None, where: Filter = EVERYTHING
) -> int:
    """Write metadata as .parquet, .jsonl or .csv, and embeddings as .npy; the number of images.

    Args:
        library: to export.
        path: of the metadata; its extension determines the format. Parquet includes embeddings.
        vectors: path of the embeddings, float32 [n, D] in the order of the metadata.
        where: which images.
    """
    write = check_format(path)
    records = [record for record in library.store.records() if where.matches(record)]
    embeddings = library.store.vectors([record.id for record in records])
    write(path, records, embeddings)
    if vectors is not None:
        with atomic(vectors) as handle:
            np.save(handle, embeddings)
    return len(records)


Writer = Callable[[Path, Sequence[Record], np.ndarray], None]


def check_format(path: Path) -> Writer:
    """The writer for a file name; an unknown format is an error."""
    found = WRITERS.get(path.suffix.lower())
    if found is None:
        raise PolyglanceError(f"{path}: must end in one of {', '.join(WRITERS)}")
    return found


def _write_jsonl(path: Path, records: Sequence[Record], vectors: np.ndarray) -> None:
    with atomic(path, "w") as handle:
        for record in records:
            handle.write(json.dumps(record.as_dict(), ensure_ascii=False) + "\n")


def _write_csv(path: Path, records: Sequence[Record], vectors: np.ndarray) -> None:
    """One line per image; captions and tags as JSON."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(record) for record in records)
    with atomic(path) as handle:
        handle.write(buffer.getvalue().encode())


def _flat(record: Record) -> dict[str, Any]:
    fields = record.as_dict()
    for name in ("captions", "tags"):
        fields[name] = json.dumps(fields[name], ensure_ascii=False)
    return fields


def _write_parquet(path: Path, records: Sequence[Record], vectors: np.ndarray) -> None:
    import pyarrow.parquet as parquet

    from polyglance.library.stores.columns import to_table

    with atomic(path) as handle:
        parquet.write_table(to_table(records, vectors), handle)


WRITERS: dict[str, Writer] = {
    ".parquet": _write_parquet,
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
}
