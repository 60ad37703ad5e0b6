"""Digests of content: the same for the same content, on every machine and at every time.

What is kept on disk is named by them, so a change of their values makes caches and runs invalid.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

CHUNK = 1 << 20


class _Array(Protocol):
    def tobytes(self) -> bytes: ...


Part = bytes | str | _Array
"""Texts count as UTF-8, arrays as their values in C order, without shape and type."""


def content_digest(parts: Iterable[Part]) -> str:
    """SHA-256 of parts laid end to end, 64 hexadecimal digits.

    >>> content_digest(["a", b"b"]) == content_digest(["ab"])
    True
    """
    total = hashlib.sha256()
    for part in parts:
        total.update(_bytes(part))
    return total.hexdigest()


def short_digest(parts: Iterable[Part], size: int) -> bytes:
    """BLAKE2b of parts laid end to end, `size` bytes, at most 64."""
    total = hashlib.blake2b(digest_size=size)
    for part in parts:
        total.update(_bytes(part))
    return total.digest()


def json_digest(value: Any) -> str:
    """Of a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return content_digest([text])


def file_digest(path: Path) -> str:
    """Of all bytes of a file."""
    return content_digest(file_chunks(path))


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a MiB at a time."""
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            yield chunk


def sampled_digest(path: Path) -> str:
    """Of a file that may be large: of its size and its first and last MiB."""
    return content_digest([str(path.stat().st_size), *file_ends(path)])


def file_ends(path: Path) -> tuple[bytes, bytes]:
    """The first and last MiB of a file; they overlap in a smaller one."""
    with path.open("rb") as handle:
        first = handle.read(CHUNK)
        handle.seek(max(0, path.stat().st_size - CHUNK))
        return first, handle.read(CHUNK)


def folder_digest(folder: Path) -> str:
    """Of the names of a folder's files and of their `sampled_digest`, 16 hexadecimal digits."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = (f"{p.relative_to(folder).as_posix()} {sampled_digest(p)[:16]}\n" for p in files)
    return content_digest(lines)[:16]


def _bytes(part: Part) -> bytes:
    if isinstance(part, bytes):
        return part
    return part.encode() if isinstance(part, str) else part.tobytes()
