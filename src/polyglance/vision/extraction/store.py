"""The feature store: a folder of float16 vectors that grows by appending.

`vectors.f16` is a flat [total, dim] array, `index.jsonl` has a line {"key", "start", "count",
"crc"} per image, `meta.json` describes the vectors. Vectors are written before the lines that
refer to them, so after a kill the files have a valid prefix and perhaps a torn tail: readers
ignore the tail and the next writer cuts it off. `crc` is the CRC-32 of the image's vectors; if
they are damaged, new ones are appended with a line that has "again". Stores of version 0.1.0
have neither.
"""

import contextlib
import json
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.files import has_file, read_json, refuse_pipe, write_json
from polyglance.storage.locks import locked

Form = Literal["global", "set"]

VECTORS, INDEX, META, LOCK = "vectors.f16", "index.jsonl", "meta.json", "lock"
DTYPE = np.dtype("<f2")
FLUSH_BYTES = 16 << 20
CHECKERS = 4
"""Threads that compute checksums."""
LARGEST = float(np.finfo(np.float16).max)
MAPPED_BYTES = 1 << 30
"""Bytes read before the mapped pages are released; otherwise a process that reads a large store
appears to use as much memory as the store. The system still caches them if it has spare memory.
"""


@dataclass(frozen=True, slots=True)
class Meta:
    """The vectors of a store: one per key ("global") or several ("set")."""

    dim: int
    form: Form
    extractor: str
    dtype: str = "float16"


@dataclass(frozen=True, slots=True)
class Block:
    """Position of a key's vectors; `crc` is None in stores of version 0.1.0."""

    start: int
    count: int
    crc: int | None


class FeatureStore:
    """Memory-mapped vectors by key; any number of readers, one writer at a time.

    >>> import tempfile
    >>> with FeatureStore.create(Path(tempfile.mkdtemp()) / "s", 2, "global", "example") as store:
    ...     store.append("a.jpg", np.array([[1.0, 2.0]]))
    >>> store.get("a.jpg").tolist()
    [[1.0, 2.0]]
    """

    def __init__(self, folder: Path, meta: Meta) -> None:
        self.folder, self.meta = folder, meta
        self._index: dict[str, Block] = {}
        self._forgotten: set[str] = set()
        self._total = self._offset = 0
        self._pending: dict[str, np.ndarray] = {}
        self._pending_bytes = self._read_bytes = 0
        self._map: np.ndarray = np.empty((0, meta.dim), DTYPE)
        for name in (VECTORS, INDEX, LOCK):
            refuse_pipe(folder / name)
        self.refresh()

    @classmethod
    def create(cls, folder: Path, dim: int, form: Form, extractor: str) -> "FeatureStore":
        """Create an empty store; a folder that already has one is an error.

        Args:
            folder: of the store.
            dim: dimension of a vector.
            form: one vector per key ("global") or several ("set").
            extractor: that computes the vectors.
        """
        if (folder / META).exists():
            raise PolyglanceError(f"{folder}: a feature store already exists; remove it first")
        if dim < 1 or form not in ("global", "set"):
            raise PolyglanceError(f"{folder}: cannot store form '{form}' of dimension {dim}")
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for name in (VECTORS, INDEX):
                (folder / name).touch()
            meta = Meta(dim, form, extractor)
            write_json(folder / META, asdict(meta))
        return cls(folder, meta)

    @classmethod
    def open(cls, folder: Path) -> "FeatureStore":
        """Open an existing store for reading and appending."""
        if not has_file(folder / META):
            raise PolyglanceError(f"{folder}: not a feature store, it has no {META}")
        return cls(folder, _meta(read_json(folder / META), folder / META))

    @classmethod
    def open_or_create(cls, folder: Path, dim: int, form: Form, extractor: str) -> "FeatureStore":
        """Open the store, or `create` it; one with different content is an error.

        Args:
            folder: of the store.
            dim: dimension of the vectors.
            form: one vector per key ("global") or several ("set").
            extractor: that computes them.
        """
        if not (folder / META).is_file():
            return cls.create(folder, dim, form, extractor)
        store = cls.open(folder)
        if (wanted := Meta(dim, form, extractor)) != store.meta:
            raise PolyglanceError(
                f"{folder}: contains {_describe(store.meta)}, not {_describe(wanted)}; "
                "remove the folder or choose another"
            )
        return store

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.meta.dim

    @property
    def form(self) -> Form:
        """ "global" (one vector per key) or "set" (one or more)."""
        return self.meta.form

    @property
    def vectors(self) -> np.ndarray:
        """All flushed vectors, [total, dim] float16, memory-mapped and read-only."""
        if len(self._map) != self._total:
            shape = (self._total, self.dim)
            self._map = np.memmap(self.folder / VECTORS, DTYPE, mode="r", shape=shape)
        return self._map

    def was_read(self, count: int) -> None:
        """Count vectors copied from `vectors`, and release their pages from time to time.

        Args:
            count: number of vectors.
        """
        self._read_bytes += count * self._row_bytes
        mapped = getattr(self._map, "_mmap", None)
        if self._read_bytes >= MAPPED_BYTES and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            self._read_bytes = 0
            if mapped is not None:
                mapped.madvise(mmap.MADV_DONTNEED)  # pages are read from the file again if needed

    def __len__(self) -> int:
        return len(self._index) + len(self._pending)

    def __contains__(self, key: object) -> bool:
        return key in self._index or key in self._pending

    def keys(self) -> list[str]:
        """All keys, in the order they were appended."""
        return [*self._index, *self._pending]

    def get(self, key: str) -> np.ndarray:
        """The vectors of one key, [count, dim] float16."""
        start, count = self.rows([key])
        self.check([key])
        return self.vectors[start[0] : start[0] + count[0]]

    def rows(self, keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Positions of keys in `vectors`: (start, count), both [n] int64; flushes first."""
        self.flush()
        try:
            blocks = [self._index[key] for key in keys]
        except KeyError as error:
            raise PolyglanceError(f"{self.folder}: no features for '{error.args[0]}'") from None
        found = np.array([(one.start, one.count) for one in blocks], np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def damaged(self, keys: Iterable[str]) -> list[str]:
        """Those of `keys` whose vectors differ from what was written.

        Without a checksum: vectors with NaN or infinity, which are never written.
        """
        self.flush()
        found = dict.fromkeys(key for key in keys if key in self._index)
        with ThreadPoolExecutor(CHECKERS) as pool:
            whole = pool.map(self._is_whole, found, chunksize=256)
            return [key for key, fine in zip(found, whole, strict=True) if not fine]

    def check(self, keys: Iterable[str]) -> None:
        """Raise if vectors of `keys` are damaged."""
        if bad := self.damaged(keys):
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            raise PolyglanceError(
                f"{self.folder / VECTORS}: the features of '{bad[0]}'{more} are damaged; "
                "import or compute them again, or copy the folder again"
            )

    def forget(self, keys: Iterable[str]) -> None:
        """Remove damaged keys, so that they can be appended again."""
        for key in keys:
            del self._index[key]
            self._forgotten.add(key)

    def _is_whole(self, key: str) -> bool:
        block = self._index[key]
        vectors = self.vectors[block.start : block.start + block.count]
        whole = _crc(vectors) == block.crc if block.crc is not None else None
        if whole is None:
            whole = bool(np.isfinite(vectors).all())
        self.was_read(block.count)
        return whole

    def append(self, key: str, vectors: np.ndarray) -> None:
        """Add the vectors [n, dim] of a new key; they are on disk after `flush`."""
        if key in self:
            raise PolyglanceError(f"{self.folder}: '{key}' is already stored")
        self._pending[key] = stored = check_vectors(key, vectors, self.meta)
        self._pending_bytes += stored.nbytes
        if self._pending_bytes >= FLUSH_BYTES:
            self.flush()

    def append_many(self, items: Iterable[tuple[str, np.ndarray]]) -> None:
        """Add (key, vectors [n, dim]) pairs and flush."""
        for key, vectors in items:
            self.append(key, vectors)
        self.flush()

    def flush(self) -> None:
        """Write pending vectors. Keys that another process has stored meanwhile are dropped."""
        if not self._pending:
            return
        with _writing(self.folder):
            self.refresh()
            fresh = {k: v for k, v in self._pending.items() if k not in self._index}
            lines, start = [], self._total
            for key, vectors in fresh.items():
                crc = _crc(vectors)
                row = {"key": key, "start": start, "count": len(vectors), "crc": crc}
                row |= {"again": True} if key in self._forgotten else {}
                lines.append(json.dumps(row) + "\n")
                start += len(vectors)
            _write_at(self.folder / VECTORS, self._row_bytes * self._total, fresh.values())
            _write_at(self.folder / INDEX, self._offset, [line.encode() for line in lines])
            self._pending, self._pending_bytes = {}, 0
            self.refresh()

    def refresh(self) -> None:
        """Read index lines added since the last call; a torn tail is ignored."""
        try:
            available = (self.folder / VECTORS).stat().st_size // self._row_bytes
            with (self.folder / INDEX).open("rb") as handle:
                handle.seek(self._offset)
                tail = handle.read()
        except OSError as error:
            raise PolyglanceError(
                f"{self.folder}: the feature store is damaged ({error.strerror}); remove it"
            ) from None
        for line in tail.splitlines(keepends=True):
            row = _index_row(line, self._total, available, self.form)
            if row is None or (row[0] in self._index and not row[2]):
                break
            self._index[row[0]] = row[1]
            self._total += row[1].count
            self._offset += len(line)

    @property
    def _row_bytes(self) -> int:
        return self.dim * DTYPE.itemsize

    def __enter__(self) -> "FeatureStore":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.flush()


def check_vectors(key: str, vectors: np.ndarray, meta: Meta) -> np.ndarray:
    """Validate vectors and convert them to contiguous float16 [n, dim].

    Args:
        key: whose vectors they are, for error messages.
        vectors: [n, dim] floats; n is 1 for a global feature.
        meta: of the store.
    """
    values = np.asarray(vectors)
    if values.ndim != 2 or values.shape[1] != meta.dim or not len(values):
        raise PolyglanceError(
            f"'{key}': features of shape {values.shape} do not fit a store of [n, {meta.dim}]"
        )
    if meta.form == "global" and len(values) != 1:
        raise PolyglanceError(f"'{key}': a global feature is one vector, not {len(values)}")
    if not np.isfinite(values).all():
        raise PolyglanceError(f"'{key}': the features contain NaN or infinity")
    if (largest := float(np.abs(values).max())) > LARGEST:
        raise PolyglanceError(
            f"'{key}': the feature value {largest:g} exceeds float16 ({LARGEST:g}); scale it down"
        )
    return np.ascontiguousarray(values, DTYPE)


def _index_row(
    line: bytes, start: int, available: int, form: Form
) -> tuple[str, Block, bool] | None:
    """(key, block, whether it replaces another) from a line that continues the store at `start`.

    None if the line does not.
    """
    try:
        row = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    if not isinstance(row, dict) or row.get("start") != start:
        return None
    key, count, crc = row.get("key"), row.get("count"), row.get("crc")
    if not isinstance(key, str) or type(count) is not int or count < 1:
        return None
    if crc is not None and type(crc) is not int:
        return None
    if start + count > available or (form == "global" and count != 1):
        return None
    return key, Block(start, count, crc), row.get("again") is True


def _crc(vectors: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(vectors).data)


def _meta(value: Any, path: Path) -> Meta:
    try:
        meta = Meta(int(value["dim"]), value["form"], str(value["extractor"]), value["dtype"])
    except (KeyError, TypeError, ValueError):
        raise PolyglanceError(f"{path}: needs dim, form, extractor and dtype") from None
    if meta.dim < 1 or meta.form not in ("global", "set") or meta.dtype != "float16":
        raise PolyglanceError(f"{path}: this version cannot read this dim, form or dtype")
    return meta


def _describe(meta: Meta) -> str:
    return f"'{meta.extractor}' ({meta.form}, dimension {meta.dim})"


def _write_at(path: Path, offset: int, blocks: Iterable[Any]) -> None:
    """Truncate the file at `offset`, append the blocks and sync."""
    with path.open("r+b") as handle:
        handle.truncate(offset)
        handle.seek(offset)
        for block in blocks:
            handle.write(block)
        handle.flush()
        os.fsync(handle.fileno())


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; a full disk or missing permission is a user error."""
    try:
        with locked(folder / LOCK):
            yield
    except OSError as error:
        raise PolyglanceError(f"{folder}: cannot write features ({error.strerror})") from None
