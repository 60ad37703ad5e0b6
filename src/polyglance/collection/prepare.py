"""An image of a collection becomes a row without its embedding, and the model's input."""

import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyglance.collection.items import Item
from polyglance.data.images.read import content_key
from polyglance.errors import ImageProblem
from polyglance.library.media.reading import Preparing, read_pictures
from polyglance.library.record import Record, make_id
from polyglance.storage.folders import is_remote

_HEIF = (b"heic", b"heix", b"mif1", b"msf1")


class Prepared(NamedTuple):
    """An image that can be embedded, or the reason why not."""

    item: Item
    record: Record | None
    thumbnail: bytes
    pixels: np.ndarray | None
    reason: str = ""


def prepare(item: Item, how: Preparing, first: int, thumbnails: bool) -> Prepared:
    """Fetch and decode an image; whatever is wrong with it is about it alone.

    Args:
        item: the image.
        how: the model's way to prepare images.
        first: what is added to its number for an id that no other image has.
        thumbnails: whether to make one.
    """
    try:
        return _prepare(item, how, first, thumbnails)
    except ImageProblem as problem:
        return Prepared(item, None, b"", None, problem.reason)
    except Exception as error:  # one image must not end the work on all others
        reason = f"cannot be embedded ({type(error).__name__}: {error})"
        return Prepared(item, None, b"", None, reason[:500])


def _prepare(item: Item, how: Preparing, first: int, thumbnails: bool) -> Prepared:
    given, stamp = item.fetch()
    with tempfile.TemporaryDirectory(prefix="polyglance-") as folder:
        path = given if isinstance(given, Path) else _written(given, Path(folder))
        content = content_key(path)
        picture = read_pictures(path, how, thumbnails)[0]
    facts = picture.facts
    record = Record(
        make_id(content, first + item.number),
        content,
        item.path,
        stamp,
        facts.width,
        facts.height,
        facts.taken,
        facts.latitude,
        facts.longitude,
        (*item.captions, *facts.captions),
        facts.tags,
        picture.looks,
    )
    return Prepared(item, record, picture.thumbnail, picture.pixels)


def _written(data: bytes, folder: Path) -> Path:
    """A file of an image's bytes: so they go the one way of all images."""
    heif = data[4:8] == b"ftyp" and data[8:12] in _HEIF
    path = folder / ("image.heic" if heif else "image.jpg")  # all other formats tell themselves
    path.write_bytes(data)
    return path


def ahead(
    items: Iterator[Item], work: Callable[[Item], Prepared], threads: int
) -> Iterator[Prepared]:
    """The work done on items, in their order, some ahead of who asks.

    Args:
        items: what to work on.
        work: done in threads.
        threads: how many.
    """
    waiting: deque[Future[Prepared]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def threads_for(kind: str, place: str) -> int:
    """How many images of a part are fetched and decoded at a time.

    Args:
        kind: of the part.
        place: of the part.
    """
    # Those that come over a network wait most of the time.
    return 16 if kind == "table" or (kind == "files" and is_remote(place)) else 2
