"""Tars in WebDataset format: the files of a sample are adjacent and share their name."""

import gzip
import posixpath
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from polyglance.collection.limits import LARGEST
from polyglance.collection.plan import Damaged
from polyglance.data.images.read import EXTENSIONS
from polyglance.storage.folders import open_stream

CAPTION = ".txt"
MOST_CAPTION = 64_000
"""Largest caption file, in bytes."""


class Member(NamedTuple):
    """An image in a tar."""

    number: int
    """Index among the images."""
    name: str
    size: int
    modified: float
    data: bytes | None
    """None if not wanted, or if larger than `LARGEST`."""
    caption: str | None = None


def read_members(place: str, wanted: Callable[[int], bool]) -> Iterator[Member]:
    """The images of a tar, in order; a damaged tar is an error after its readable part.

    Args:
        place: location of the tar, local or remote; it may be gzipped.
        wanted: whether to read the bytes of the image with this index; others are skipped.
    """
    sample: list[Member] = []
    caption: str | None = None
    key, count = "", 0
    try:
        with open_stream(place) as raw, tarfile.open(fileobj=raw, mode="r:*") as tar:
            for entry in tar:
                tar.members = []  # type: ignore[attr-defined]  # else it keeps all names in memory
                if not entry.isfile() or posixpath.basename(entry.name).startswith("."):
                    continue
                if key != (key := _key(entry.name)):
                    yield from (one._replace(caption=caption) for one in sample)
                    sample, caption = [], None
                end = posixpath.splitext(entry.name)[1].lower()
                if end in EXTENSIONS:
                    sample.append(_member(tar, entry, count, wanted(count)))
                    count += 1
                elif end == CAPTION and entry.size <= MOST_CAPTION:
                    caption = _bytes(tar, entry).decode("utf-8", "replace")
            _check_end(tar)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        yield from (one._replace(caption=caption) for one in sample)
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Damaged(f"the tar is damaged after {count} images ({reason})") from None
    yield from (one._replace(caption=caption) for one in sample)


def _check_end(tar: tarfile.TarFile) -> None:
    """Raise if a tar has no end marker: `tarfile` treats damage as the end."""
    assert tar.fileobj is not None
    tar.fileobj.seek(tar.offset)
    if tar.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise EOFError("neither a file nor the end marker follows")


def _key(name: str) -> str:
    """The name shared by the files of a sample: up to the first dot of the file name.

    >>> _key("a.b/c.seg.png")
    'a.b/c'
    """
    folder, base = posixpath.split(name)
    return posixpath.join(folder, base.partition(".")[0])


def _member(tar: tarfile.TarFile, entry: tarfile.TarInfo, number: int, wanted: bool) -> Member:
    data = _bytes(tar, entry) if wanted and entry.size <= LARGEST else None
    return Member(number, entry.name, entry.size, float(entry.mtime), data)


def _bytes(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    handle = tar.extractfile(entry)
    data = b"" if handle is None else handle.read(entry.size)
    if len(data) != entry.size:
        raise EOFError("it is truncated")
    return data
