"""The images of a part, one after the other."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from polyglance.collection.limits import ATTEMPTS, LARGEST, PAUSE, PIECE, SECONDS
from polyglance.collection.plan import Part
from polyglance.collection.tables import locate, read_rows
from polyglance.collection.tars import read_members
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.library.record import Caption, Stamp
from polyglance.library.syncing.scan import stamp_of
from polyglance.storage.folders import is_remote, open_stream

MOST_CAPTION = 2000
"""Characters kept of a caption."""


class Item(NamedTuple):
    """An image of a part."""

    number: int
    path: str
    """Its location, for messages."""
    fetch: Callable[[], tuple[Path | bytes, Stamp]]
    """Returns the image's file or bytes; raises `ImageProblem` if there are none."""
    captions: tuple[Caption, ...] = ()


def read_items(part: Part, column: str, wanted: Callable[[int], bool]) -> Iterator[Item]:
    """All images of a part, always in the same order.

    Args:
        part: to read.
        column: of a table: the one with the images.
        wanted: whether the bytes of the image with this index will be needed.
    """
    if part.kind == "files":
        yield from _files(part)
    elif part.kind == "tar":
        yield from _tar(part, wanted)
    else:
        yield from _table(part, column)


def _files(part: Part) -> Iterator[Item]:
    for number, name in enumerate(part.names):
        place = f"{part.place}/{name}"
        yield Item(number, place, _fetcher(place))


def _tar(part: Part, wanted: Callable[[int], bool]) -> Iterator[Item]:
    for one in read_members(part.place, wanted):
        path = f"{part.place}/{one.name}"
        stamp = Stamp(one.size, int(one.modified * 1e9), 0)
        yield Item(one.number, path, _from_bytes(path, one.data, stamp), _captions(one.caption))


def _table(part: Part, column: str) -> Iterator[Item]:
    for number, row in enumerate(read_rows(part.place, part.groups, column)):
        path = f"{part.place}#{row.number}"
        captions = _captions(row.caption)
        if row.place is None:
            stamp = Stamp(len(row.data or b""), 0, 0)
            yield Item(number, path, _from_bytes(path, row.data, stamp), captions)
            continue
        try:
            place = locate(part.place, row.place)
        except ValueError as error:
            yield Item(number, path, _refused(path, str(error)), captions)
        else:
            yield Item(number, place, _fetcher(place), captions)


def _captions(text: str | None) -> tuple[Caption, ...]:
    words = " ".join((text or "").split())[:MOST_CAPTION]
    return (Caption("", words),) if words else ()


def _from_bytes(path: str, data: bytes | None, stamp: Stamp) -> Callable[[], tuple[bytes, Stamp]]:
    def fetch() -> tuple[bytes, Stamp]:
        if data is None and not stamp.size:
            raise ImageProblem(Path(path), "there is nothing in this row")
        if data is None or len(data) > LARGEST:
            raise ImageProblem(Path(path), f"larger than {LARGEST / 1e6:.0f} MB")
        return data, stamp

    return fetch


def _refused(path: str, reason: str) -> Callable[[], tuple[bytes, Stamp]]:
    def fetch() -> tuple[bytes, Stamp]:
        raise ImageProblem(Path(path), reason)

    return fetch


def _fetcher(place: str) -> Callable[[], tuple[Path | bytes, Stamp]]:
    def fetch() -> tuple[Path | bytes, Stamp]:
        if not is_remote(place):
            return _local(place)
        data = _download(place)
        return data, Stamp(len(data), 0, 0)

    return fetch


def _local(place: str) -> tuple[Path, Stamp]:
    path = Path(place)
    try:
        facts = os.stat(place)
    except (OSError, ValueError) as error:
        gone = isinstance(error, FileNotFoundError)
        raise ImageProblem(path, "no such file" if gone else f"cannot be read ({error})") from None
    if facts.st_size > LARGEST:
        raise ImageProblem(path, f"larger than {LARGEST / 1e6:.0f} MB")
    return path, stamp_of(facts)


def _download(place: str) -> bytes:
    """The bytes of a remote file, after several attempts if necessary."""
    attempt = 0
    while True:
        try:
            return _read_all(place)
        except FileNotFoundError:
            raise ImageProblem(Path(place), "no such file") from None
        except (PermissionError, PolyglanceError) as error:
            raise ImageProblem(Path(place), str(error)) from None
        except Exception as error:  # each file system raises its own types
            attempt += 1
            if attempt == ATTEMPTS:
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                raise ImageProblem(Path(place), f"cannot be fetched ({reason})") from None
            time.sleep(PAUSE * 2**attempt)


def _read_all(place: str) -> bytes:
    until = time.monotonic() + SECONDS
    pieces: list[bytes] = []
    count = 0
    with open_stream(place) as handle:
        while piece := handle.read(PIECE):
            pieces.append(piece)
            count += len(piece)
            if count > LARGEST:
                raise ImageProblem(Path(place), f"larger than {LARGEST / 1e6:.0f} MB")
            if time.monotonic() > until:
                raise ImageProblem(Path(place), f"fetching it takes more than {SECONDS:.0f} s")
    return b"".join(pieces)
