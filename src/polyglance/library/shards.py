"""Shards: files of images with embeddings, written by `polyglance embed` for libraries."""

import contextlib
import io
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyglance.errors import PolyglanceError
from polyglance.storage.folders import Folder
from polyglance.storage.staging import sweep_files

if TYPE_CHECKING:
    import pyarrow as pa

MARK, SHARDS = "embed.json", "shards"
FORMATS = ("parquet", "lance")
FORMAT = 1
THUMBNAIL = "thumbnail"
"""Column that shards have in addition to a store's; empty without thumbnails."""
ROW_GROUP = 256
"""Rows per Parquet row group, all of which are read to get one."""
HIDDEN = ".writing-"


@dataclass(frozen=True, slots=True)
class Mark:
    """Properties of a folder of shards."""

    model: str
    """The model's id."""
    model_folder: str
    """Its folder; "" is the included model."""
    dim: int
    source: str
    kind: str
    """One of `FORMATS`."""
    column: str = ""
    """For a table: the column with the images."""
    thumbnails: bool = True
    rows: int = 2048
    """Largest number of images per shard."""
    format: int = FORMAT


def is_shards(folder: Folder) -> bool:
    """Whether a folder was written by `polyglance embed`."""
    return folder.exists(MARK)


def read_mark(folder: Folder) -> Mark:
    """Read the mark of a folder of shards; anything else is an error."""
    where = folder.full(MARK)
    if not is_shards(folder):
        raise PolyglanceError(
            f"{folder.place}: no shards; create them with 'polyglance embed SOURCE --out DIR'"
        )
    try:
        value = json.loads(folder.read(MARK))
        found = Mark(**value)
    except (TypeError, ValueError) as error:
        raise PolyglanceError(f"{where}: damaged ({error}); embed into a new folder") from None
    texts = (found.model, found.model_folder, found.source, found.kind, found.column)
    good = all(isinstance(text, str) for text in texts) and isinstance(found.dim, int)
    if found.format != FORMAT or found.kind not in FORMATS or not good:
        raise PolyglanceError(f"{where}: not of format {FORMAT}, or damaged; embed again")
    return found


def write_mark(folder: Folder, mark: Mark) -> None:
    """Write the mark of a folder of shards."""
    folder.write(MARK, json.dumps(asdict(mark), indent=2).encode())


def shard_names(folder: Folder, kind: str) -> list[str]:
    """Names of the complete shards, sorted, without extension."""
    end = f".{kind}"
    names = (name for name in folder.names(SHARDS) if not name.startswith("."))
    return [name.removesuffix(end) for name in names if name.endswith(end)]


def write_shard(folder: Folder, name: str, table: "pa.Table", kind: str) -> None:
    """Write a shard atomically; an existing one of that name is replaced or kept.

    Args:
        folder: of the shards.
        name: without extension.
        table: rows with the columns of `stores.columns.schema` and `THUMBNAIL`.
        kind: one of `FORMATS`.
    """
    if kind == "lance":
        _write_lance(folder, name, table)
        return
    import pyarrow.parquet as parquet

    buffer = io.BytesIO()
    # Compression does not make vectors or thumbnails smaller.
    parquet.write_table(
        table, buffer, row_group_size=ROW_GROUP, compression="none", use_dictionary=False
    )
    folder.write(f"{SHARDS}/{name}.parquet", buffer.getvalue())


def _write_lance(folder: Folder, name: str, table: "pa.Table") -> None:
    import lancedb

    if folder.is_remote:
        database: Any = lancedb.connect(folder.full(SHARDS))
        database.create_table(name, table, mode="overwrite")
        return
    place = folder.full(SHARDS)
    os.makedirs(place, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=HIDDEN, dir=place) as hidden:
        lancedb.connect(hidden).create_table(name, table)
        try:
            os.rename(f"{hidden}/{name}.lance", f"{place}/{name}.lance")
        except OSError:  # another process was faster, with the same rows
            if not os.path.isdir(f"{place}/{name}.lance"):
                raise


def sweep(folder: Folder) -> None:
    """Remove what killed processes left; no other process may be writing."""
    if folder.is_remote:
        return
    place = folder.full(SHARDS)
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(HIDDEN):
                shutil.rmtree(f"{place}/{name}", ignore_errors=True)
    for where in ("", SHARDS):
        sweep_files(Path(folder.full(where)))


class Shard:
    """A shard opened for reading.

    Args:
        folder: that contains the shard.
        name: of the shard, without a suffix.
        kind: its format, one of `FORMATS`.
    """

    def __init__(self, folder: Folder, name: str, kind: str) -> None:
        self.name, self._kind = name, kind
        self._file: Any = None
        self._table: Any = None
        if kind == "lance":
            import lancedb

            self._table = lancedb.connect(folder.full(SHARDS)).open_table(name)
            return
        import pyarrow.parquet as parquet

        where = folder.inner(f"{SHARDS}/{name}.parquet")
        try:
            self._file = parquet.ParquetFile(where, filesystem=folder.arrow)
        except Exception as error:  # Arrow raises many types
            reason = str(error).splitlines()[0]
            raise PolyglanceError(
                f"{where}: not a complete shard ({reason}); delete it and embed again"
            ) from None

    def __len__(self) -> int:
        if self._file is not None:
            return int(self._file.metadata.num_rows)
        return int(self._table.count_rows())

    def read(self, columns: list[str]) -> "pa.Table":
        """Some columns of all rows."""
        if self._file is not None:
            return self._file.read(columns)
        return self._table.search().select(columns).limit(len(self)).to_arrow()

    def thumbnail(self, row: int) -> bytes | None:
        """The thumbnail of a row; None if there is none."""
        if self._file is None:
            found = self._table.take_offsets([row]).select([THUMBNAIL]).to_arrow()
            return found[THUMBNAIL][0].as_py()
        group, place = divmod(row, ROW_GROUP)
        return self._file.read_row_group(group, [THUMBNAIL])[THUMBNAIL][place].as_py()
