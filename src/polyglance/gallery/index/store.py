"""Storage of the index: one row per image that a model has encoded.

The rest of the package uses it only through `Index`.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError

FOLDER = "index"
WAIT_SECONDS = 60
"""How long a process waits for another one to write, in seconds."""
_AT_A_TIME = 500
"""Values per query; SQLite has a limit."""
_TABLE = """
CREATE TABLE IF NOT EXISTS pictures (
    path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, inode INTEGER,
    content BLOB, vector BLOB, problem TEXT, reader TEXT
) WITHOUT ROWID
"""
_CONTENT = "CREATE INDEX IF NOT EXISTS by_content ON pictures (content)"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Metadata that identifies an unchanged file."""

    size: int
    mtime: int
    inode: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An image's embedding, or what is wrong with the file.

    `path` is absolute and in bytes, as names may not be UTF-8. `reader` is the version of the
    decoders that failed on an image with a `problem`: another one may succeed.
    """

    path: bytes
    stamp: Stamp
    content: bytes
    vector: bytes = b""
    problem: str = ""
    reader: str = ""


class Index:
    """All images that one model has encoded, from all folders, in one SQLite file."""

    def __init__(self, connection: sqlite3.Connection, reason: str = "") -> None:
        self._connection = connection
        self.reason = reason
        """Why nothing is stored, if the location is not writable."""

    def entries(self, folder: bytes) -> dict[bytes, Entry]:
        """Path → entry for all images below an absolute folder."""
        below = folder.rstrip(b"/\\")
        query = "SELECT * FROM pictures WHERE path > ? AND path < ?"
        found: dict[bytes, Entry] = {}
        for separator in (b"/", b"\\"):
            first, end = below + separator, below + bytes([separator[0] + 1])
            for row in self._connection.execute(query, (first, end)):
                found[row[0]] = _entry(row)
        return found

    def get(self, paths: Sequence[bytes]) -> dict[bytes, Entry]:
        """Path → entry for the known images."""
        found: dict[bytes, Entry] = {}
        for start in range(0, len(paths), _AT_A_TIME):
            part = paths[start : start + _AT_A_TIME]
            query = f"SELECT * FROM pictures WHERE path IN ({','.join('?' * len(part))})"
            found |= {row[0]: _entry(row) for row in self._connection.execute(query, part)}
        return found

    def with_content(self, contents: Sequence[bytes]) -> dict[bytes, bytes]:
        """Content → vector for images with one of these contents, in any location."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(contents), _AT_A_TIME):
            part = contents[start : start + _AT_A_TIME]
            marks = ",".join("?" * len(part))
            query = f"SELECT content, vector FROM pictures WHERE content IN ({marks})"
            found |= {
                key: vector for key, vector in self._connection.execute(query, part) if vector
            }
        return found

    def put(self, entries: Iterable[Entry]) -> None:
        """Store entries in one transaction."""
        rows = [
            (e.path, *astuple(e.stamp), e.content, e.vector, e.problem, e.reader) for e in entries
        ]
        with self._connection:
            marks = ",".join("?" * 8)
            self._connection.executemany(f"INSERT OR REPLACE INTO pictures VALUES ({marks})", rows)

    def drop(self, paths: Iterable[bytes]) -> None:
        """Delete images."""
        with self._connection:
            self._connection.executemany(
                "DELETE FROM pictures WHERE path = ?", [(path,) for path in paths]
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _entry(row: Sequence[Any]) -> Entry:
    path, size, mtime, inode, content, vector, problem, reader = row
    return Entry(path, Stamp(size, mtime, inode), content, vector, problem, reader)


@contextlib.contextmanager
def open_index(cache: Path, *model: str) -> Iterator[Index]:
    """The index of a model; if it is not writable, it is kept in memory, with a `reason`.

    Args:
        cache: the folder for derived data.
        model: the model's id and its former ids, under which its embeddings are the same: an
            existing index with one of them is used. Different models never share an index.
    """
    paths = [cache / FOLDER / f"{one[:32]}.sqlite" for one in model]
    path = next((one for one in paths if one.is_file()), paths[0])
    index = _opened(path)
    try:
        yield index
    except sqlite3.Error as error:
        raise PolyglanceError(
            f"{path}: the index cannot be used ({error}); stop other searches, or remove the file"
        ) from None
    finally:
        index.close()


def _opened(path: Path) -> Index:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Index(_connect(path))
    except sqlite3.OperationalError as error:  # no permission, or a full disk
        return Index(_copied(path), str(error))
    except sqlite3.DatabaseError:  # damaged: rebuilt from the images
        path.unlink(missing_ok=True)
        return _opened(path)
    except OSError as error:
        return Index(_copied(path), error.strerror or str(error))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_TABLE)
        connection.execute(_CONTENT)
        with connection:  # fails if it is read-only
            connection.execute("DELETE FROM pictures WHERE path = x''")
    except BaseException:
        connection.close()
        raise
    return connection


def _copied(path: Path) -> sqlite3.Connection:
    """An index in memory, with whatever can be read from the one on disk."""
    memory = sqlite3.connect(":memory:")
    with contextlib.suppress(sqlite3.Error):
        disk = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(disk):
            disk.backup(memory)
    memory.execute(_TABLE)
    memory.execute(_CONTENT)
    return memory
