"""Digests of content, the same on every machine.

Caches and runs on disk are named by them, so changing how they are computed invalidates those.
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
"""Texts are digested as UTF-8, arrays as their values in C order, without shape and type."""


def content_digest(parts: Iterable[Part]) -> str:
    """SHA-256 of the concatenated parts, 64 hexadecimal digits.

    >>> content_digest(["a", b"b"]) == content_digest(["ab"])
    True
    """
    total = hashlib.sha256()
    for part in parts:
        total.update(_bytes(part))
    return total.hexdigest()


def short_digest(parts: Iterable[Part], size: int) -> bytes:
    """BLAKE2b of the concatenated parts, `size` bytes, at most 64."""
    total = hashlib.blake2b(digest_size=size)
    for part in parts:
        total.update(_bytes(part))
    return total.digest()


def json_digest(value: Any) -> str:
    """Digest of a JSON value, regardless of key order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return content_digest([text])


def file_digest(path: Path) -> str:
    """Digest of a file's content."""
    return content_digest(file_chunks(path))


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a MiB at a time."""
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            yield chunk


def sampled_digest(path: Path) -> str:
    """Digest of a large file's size and its first and last MiB."""
    return content_digest([str(path.stat().st_size), *file_ends(path)])


def file_ends(path: Path) -> tuple[bytes, bytes]:
    """The first and last MiB of a file, which may overlap."""
    with path.open("rb") as handle:
        first = handle.read(CHUNK)
        handle.seek(max(0, path.stat().st_size - CHUNK))
        return first, handle.read(CHUNK)


def folder_digest(folder: Path) -> str:
    """Digest of a folder's file names and their `sampled_digest`, 16 hexadecimal digits."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = (f"{p.relative_to(folder).as_posix()} {sampled_digest(p)[:16]}\n" for p in files)
    return content_digest(lines)[:16]


def _bytes(part: Part) -> bytes:
    if isinstance(part, bytes):
        return part
    return part.encode() if isinstance(part, str) else part.tobytes()
