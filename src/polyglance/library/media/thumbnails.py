"""Thumbnails by key, in one SQLite file."""

import io
import sqlite3
import threading
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

from PIL import Image, features

from polyglance.errors import PolyglanceError

SIDE = 320
"""Longest side of a thumbnail in pixels."""
QUALITY = 75
_KIND = "WEBP" if features.check("webp") else "JPEG"


def make_thumbnail(image: Image.Image) -> bytes:
    """A small WebP (or JPEG, if Pillow has no WebP) of an RGB image."""
    small = image.copy() if max(image.size) <= SIDE else _reduced(image)
    buffer = io.BytesIO()
    small.info.clear()  # drop EXIF and the colour profile
    small.save(buffer, _KIND, quality=QUALITY, method=1)
    return buffer.getvalue()


def _reduced(image: Image.Image) -> Image.Image:
    scale = SIDE / max(image.size)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def content_type(data: bytes) -> str:
    """The media type of a thumbnail's bytes."""
    return "image/webp" if data[8:12] == b"WEBP" else "image/jpeg"


class Thumbnails:
    """A file of thumbnails; any number of threads and processes may use it.

    Where it cannot be written to, as on a read-only drive, it can still be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        try:
            self._file = self._opened()
        except sqlite3.Error as error:
            self._reason = str(error)
            try:
                self._read("")
            except sqlite3.Error:
                raise PolyglanceError(
                    f"{path}: cannot read or store thumbnails ({error})"
                ) from None

    def _opened(self) -> sqlite3.Connection:
        """A connection that can write."""
        file = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
        try:
            with file:
                file.execute("PRAGMA journal_mode=WAL")
                file.execute(
                    "CREATE TABLE IF NOT EXISTS thumbnails (key TEXT PRIMARY KEY, data BLOB)"
                )
        except sqlite3.Error:
            file.close()
            raise
        return file

    def _writable(self) -> sqlite3.Connection:
        if self._file is None:
            raise PolyglanceError(f"{self.path}: cannot store thumbnails ({self._reason})")
        return self._file

    def put(self, thumbnails: Mapping[str, bytes]) -> None:
        """Store thumbnails, replacing those with the same key."""
        with self._lock, self._writable() as file:
            file.executemany("INSERT OR REPLACE INTO thumbnails VALUES (?, ?)", thumbnails.items())

    def get(self, key: str) -> bytes | None:
        """A thumbnail, if it exists."""
        if self._file is not None:
            with self._lock:
                return _select(self._file, key)
        try:
            return self._read(key)
        except sqlite3.Error:  # another machine may be writing to the drive
            return None

    def _read(self, key: str) -> bytes | None:
        """A thumbnail, through a connection of its own that only reads.

        Without the files of a writer (`-wal`, `-shm`), which a reader would have to create, SQLite
        reads the file only if it is said not to change. A connection as short as a query sees what
        was written before it.
        """
        place = self.path.absolute().as_uri()
        try:
            with closing(sqlite3.connect(f"{place}?mode=ro", uri=True)) as file:
                return _select(file, key)
        except sqlite3.OperationalError:
            with closing(sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)) as file:
                return _select(file, key)

    def keep(self, keys: Collection[str]) -> int:
        """Remove all others; their number."""
        with self._lock, self._writable() as file:
            there = {row[0] for row in file.execute("SELECT key FROM thumbnails")}
            gone = there - set(keys)
            file.executemany("DELETE FROM thumbnails WHERE key = ?", ((k,) for k in gone))
        return len(gone)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _select(file: sqlite3.Connection, key: str) -> bytes | None:
    row = file.execute("SELECT data FROM thumbnails WHERE key = ?", (key,)).fetchone()
    return None if row is None else bytes(row[0])
