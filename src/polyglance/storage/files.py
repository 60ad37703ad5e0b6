"""Writing files atomically, and reading them with line numbers."""

import contextlib
import gzip
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, AnyStr

from polyglance.errors import PolyglanceError

MAX_LINE = 64 << 20
"""Longest line read, in characters."""
MAX_BLANK = 1_000_000
"""Most consecutive blank lines; a megabyte of gzip can hold a gigabyte of them."""


def refuse_pipe(path: Path) -> None:
    """Raise an error for a named pipe, socket or device, since opening it may block forever."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # reported when it is opened
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "a named pipe" if stat.S_ISFIFO(mode) else "a device or socket"
        raise PolyglanceError(f"{path}: {kind}, not a regular file; put a plain file in its place")


def refuse_pipes(folder: Path) -> None:
    """`refuse_pipe` for everything below a folder."""
    for path in sorted(folder.rglob("*")):
        refuse_pipe(path)


def has_file(path: Path) -> bool:
    """Whether a regular file exists; a pipe in its place is an error."""
    refuse_pipe(path)
    return path.is_file()


@contextlib.contextmanager
def atomic(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` and move it there when the block succeeds.

    An unwritable folder or a full disk raises a `PolyglanceError`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    encoding = None if "b" in mode else "utf-8"
    try:
        with os.fdopen(descriptor, mode, encoding=encoding) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        # An error about another file is from something the block read.
        if isinstance(error, OSError) and error.filename in (None, name):
            raise _unwritable(path, error) from None
        raise


def _unwritable(path: Path, error: OSError) -> PolyglanceError:
    return PolyglanceError(f"{path}: cannot be written ({error.strerror or error})")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    with atomic(path, "w") as handle:
        json.dump(value, handle, ensure_ascii=False, indent=2)
        handle.write("\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; an error if it is missing or malformed."""
    refuse_pipe(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PolyglanceError(f"{path}: no such file") from None
    except OSError as error:
        raise PolyglanceError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise PolyglanceError(f"{path}: not valid JSON ({error})") from None


def open_text(path: Path) -> IO[str]:
    """Open a UTF-8 text file (with or without BOM) for reading, decompressing `.gz`."""
    if not has_file(path):
        raise PolyglanceError(f"{path}: no such file")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def bounded(readline: Callable[[int], AnyStr], path: Path) -> Iterator[AnyStr]:
    """The lines of an open file; too long a line or too many blank ones are errors."""
    number = blank = 0
    while line := readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise PolyglanceError(
                f"{path}, line {number}: longer than {MAX_LINE:,} characters; "
                "is this a text file with line breaks?"
            )
        blank = blank + 1 if line.isspace() else 0
        if blank > MAX_BLANK:
            raise PolyglanceError(
                f"{path}, line {number}: more than {MAX_BLANK:,} blank lines in a row; remove them"
            )
        yield line


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its newline) of a text or `.gz` file."""
    number = 0
    try:
        with open_text(path) as handle:
            for number, line in enumerate(bounded(handle.readline, path), 1):
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        where = f"{path}, after line {number}" if number else str(path)
        raise PolyglanceError(
            f"{where}: not UTF-8 ({error.reason}); save the file as UTF-8"
        ) from None
    except (EOFError, OSError, zlib.error) as error:
        raise PolyglanceError(
            f"{path}, after line {number}: the file is damaged ({error}); get or write it again"
        ) from None


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number, value) of a JSON-lines file; blank lines are skipped.

    A duplicate key in an object is an error; the JSON parser would silently keep the last value.
    """
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_distinct)
            if "\\ud" in line.lower():  # a lone surrogate cannot be encoded
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise PolyglanceError(
                f"{path}, line {number}: not valid JSON ({reason}); correct or remove the line"
            ) from None
        yield number, value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in value if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' occurs twice")
    return value


def write_jsonl_gz(path: Path, rows: Iterable[Any]) -> None:
    """Write rows as gzipped JSON lines, atomically and without a time stamp."""
    with atomic(path) as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as handle:
        for row in rows:
            handle.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def cache_dir(override: Path | None = None) -> Path:
    """Folder of derived data: `override`, $POLYGLANCE_CACHE, or the XDG cache folder."""
    if override is not None:
        return override
    if named := os.environ.get("POLYGLANCE_CACHE"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "polyglance"
