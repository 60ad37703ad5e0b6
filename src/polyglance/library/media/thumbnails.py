"""Thumbnails by key, in one SQLite file."""

import io
import sqlite3
import threading
from collections.abc import Collection, Mapping
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
    """A file of thumbnails; any number of threads and processes may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._file = sqlite3.connect(path, timeout=60, check_same_thread=False)
            with self._file:
                self._file.execute("PRAGMA journal_mode=WAL")
                self._file.execute(
                    "CREATE TABLE IF NOT EXISTS thumbnails (key TEXT PRIMARY KEY, data BLOB)"
                )
        except sqlite3.Error as error:
            raise PolyglanceError(f"{path}: cannot read or store thumbnails ({error})") from None

    def put(self, thumbnails: Mapping[str, bytes]) -> None:
        """Store thumbnails, replacing those with the same key."""
        with self._lock, self._file:
            self._file.executemany(
                "INSERT OR REPLACE INTO thumbnails VALUES (?, ?)", thumbnails.items()
            )

    def get(self, key: str) -> bytes | None:
        """A thumbnail, if it exists."""
        with self._lock:
            query = self._file.execute("SELECT data FROM thumbnails WHERE key = ?", (key,))
            row = query.fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, keys: Collection[str]) -> int:
        """Remove all others; their number."""
        with self._lock, self._file:
            there = {row[0] for row in self._file.execute("SELECT key FROM thumbnails")}
            gone = there - set(keys)
            self._file.executemany("DELETE FROM thumbnails WHERE key = ?", ((k,) for k in gone))
        return len(gone)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
