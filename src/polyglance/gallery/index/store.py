"""Where embeddings are kept: a row for every picture that a model has seen.

`Index` is all that the rest of the package knows of it.
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
"""How long one process waits for another to write."""
_AT_A_TIME = 500
"""Values in one query; SQLite has a limit."""
_TABLE = """
CREATE TABLE IF NOT EXISTS pictures (
    path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, inode INTEGER,
    content BLOB, vector BLOB, problem TEXT, reader TEXT
) WITHOUT ROWID
"""
_CONTENT = "CREATE INDEX IF NOT EXISTS by_content ON pictures (content)"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells whether a file is the one that was read."""

    size: int
    mtime: int
    inode: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A picture's embedding, or what is wrong with the file.

    `path` is absolute and in bytes, as names need not be UTF-8. `reader` says what failed to read
    a picture with a `problem`: another one may do better.
    """

    path: bytes
    stamp: Stamp
    content: bytes
    vector: bytes = b""
    problem: str = ""
    reader: str = ""


class Index:
    """The pictures that one model has seen, all folders together, in one SQLite file."""

    def __init__(self, connection: sqlite3.Connection, reason: str = "") -> None:
        self._connection = connection
        self.reason = reason
        """Why nothing is kept, where the place cannot be written to."""

    def entries(self, folder: bytes) -> dict[bytes, Entry]:
        """Path → entry of all pictures below an absolute folder."""
        below = folder.rstrip(b"/\\")
        query = "SELECT * FROM pictures WHERE path > ? AND path < ?"
        found: dict[bytes, Entry] = {}
        for separator in (b"/", b"\\"):
            first, end = below + separator, below + bytes([separator[0] + 1])
            for row in self._connection.execute(query, (first, end)):
                found[row[0]] = _entry(row)
        return found

    def get(self, paths: Sequence[bytes]) -> dict[bytes, Entry]:
        """Path → entry of those of the pictures that are known."""
        found: dict[bytes, Entry] = {}
        for start in range(0, len(paths), _AT_A_TIME):
            part = paths[start : start + _AT_A_TIME]
            query = f"SELECT * FROM pictures WHERE path IN ({','.join('?' * len(part))})"
            found |= {row[0]: _entry(row) for row in self._connection.execute(query, part)}
        return found

    def with_content(self, contents: Sequence[bytes]) -> dict[bytes, bytes]:
        """Content → vector of pictures with one of these contents, wherever they lie."""
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
        """Keep entries; all of them are on disk after this, or none."""
        rows = [
            (e.path, *astuple(e.stamp), e.content, e.vector, e.problem, e.reader) for e in entries
        ]
        with self._connection:
            marks = ",".join("?" * 8)
            self._connection.executemany(f"INSERT OR REPLACE INTO pictures VALUES ({marks})", rows)

    def drop(self, paths: Iterable[bytes]) -> None:
        """Forget pictures."""
        with self._connection:
            self._connection.executemany(
                "DELETE FROM pictures WHERE path = ?", [(path,) for path in paths]
            )

    def close(self) -> None:
        """Free the file."""
        self._connection.close()


def _entry(row: Sequence[Any]) -> Entry:
    path, size, mtime, inode, content, vector, problem, reader = row
    return Entry(path, Stamp(size, mtime, inode), content, vector, problem, reader)


@contextlib.contextmanager
def open_index(cache: Path, model: str) -> Iterator[Index]:
    """The index of a model; one that cannot be written to is in memory, and says so.

    Args:
        cache: the folder for derived data.
        model: the model's id: two models never share an index.
    """
    path = cache / FOLDER / f"{model[:32]}.sqlite"
    index = _opened(path)
    try:
        yield index
    except sqlite3.Error as error:
        raise PolyglanceError(
            f"{path}: the index cannot be used ({error}); end other searches, or remove the file"
        ) from None
    finally:
        index.close()


def _opened(path: Path) -> Index:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Index(_connect(path))
    except sqlite3.OperationalError as error:  # a place without permission, or a full disk
        return Index(_copied(path), str(error))
    except sqlite3.DatabaseError:  # damaged, and made again from the pictures
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
        with connection:  # fails where it may only be read
            connection.execute("DELETE FROM pictures WHERE path = x''")
    except BaseException:
        connection.close()
        raise
    return connection


def _copied(path: Path) -> sqlite3.Connection:
    """An index in memory, with what can be read of the one on disk."""
    memory = sqlite3.connect(":memory:")
    with contextlib.suppress(sqlite3.Error):
        disk = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(disk):
            disk.backup(memory)
    memory.execute(_TABLE)
    memory.execute(_CONTENT)
    return memory
