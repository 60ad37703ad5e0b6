"""Prepares an image of a collection: a row without its embedding, and the model's input."""

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
from polyglance.library.media.reading import Preparing, read_media
from polyglance.library.record import Record, make_id
from polyglance.storage.folders import is_remote

_HEIF = (b"heic", b"heix", b"mif1", b"msf1")


class Prepared(NamedTuple):
    """An image ready to be embedded, or the reason why not."""

    item: Item
    record: Record | None
    thumbnail: bytes
    pixels: np.ndarray | None
    reason: str = ""


def prepare(item: Item, preprocessing: Preparing, first: int, thumbnails: bool) -> Prepared:
    """Fetch and decode an image; any error is a problem of this image only.

    Args:
        item: the image.
        preprocessing: the model's preprocessing.
        first: added to its index for an id that is unique in the collection.
        thumbnails: whether to make one.
    """
    try:
        return _prepare(item, preprocessing, first, thumbnails)
    except ImageProblem as problem:
        return Prepared(item, None, b"", None, problem.reason)
    except Exception as error:  # one image must not stop the work
        reason = f"cannot be embedded ({type(error).__name__}: {error})"
        return Prepared(item, None, b"", None, reason[:500])


def _prepare(item: Item, preprocessing: Preparing, first: int, thumbnails: bool) -> Prepared:
    source, stamp = item.fetch()
    with tempfile.TemporaryDirectory(prefix="polyglance-") as folder:
        path = source if isinstance(source, Path) else _written(source, Path(folder))
        content = content_key(path)
        image = read_media(path, preprocessing, thumbnails)[0]
    metadata = image.metadata
    record = Record(
        make_id(content, first + item.number),
        content,
        item.path,
        stamp,
        metadata.width,
        metadata.height,
        metadata.taken,
        metadata.latitude,
        metadata.longitude,
        (*item.captions, *metadata.captions),
        metadata.tags,
        image.perceptual_hash,
    )
    return Prepared(item, record, image.thumbnail, image.pixels)


def _written(data: bytes, folder: Path) -> Path:
    """Write an image's bytes to a file, so that all images are read the same way."""
    heif = data[4:8] == b"ftyp" and data[8:12] in _HEIF
    path = folder / ("image.heic" if heif else "image.jpg")  # other formats are detected by content
    path.write_bytes(data)
    return path


def ahead(
    items: Iterator[Item], work: Callable[[Item], Prepared], threads: int
) -> Iterator[Prepared]:
    """Results of `work` on items, in order, computed ahead in threads.

    Args:
        items: to work on.
        work: the function.
        threads: number of threads.
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
    """How many images of a part are fetched and decoded in parallel.

    Args:
        kind: of the part.
        place: of the part.
    """
    # Fetching over a network is mostly waiting.
    return 16 if kind == "table" or (kind == "files" and is_remote(place)) else 2
