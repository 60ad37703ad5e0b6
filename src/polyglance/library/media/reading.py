"""Reads a file once for everything that a library stores about it."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from polyglance.data.images.read import open_image, reading
from polyglance.errors import ImageProblem
from polyglance.library.media.exif import Facts, read_facts
from polyglance.library.media.kinds import Frame, kind_of
from polyglance.library.media.looks import looks
from polyglance.library.media.raw import read_raw
from polyglance.library.media.thumbnails import SIDE, make_thumbnail
from polyglance.library.media.video import read_video

THREADS, AHEAD = 2, 16


class Preparing(Protocol):
    """A model's preprocessing, as `vision.networks.preprocess.Preprocessing`."""

    @property
    def short_side(self) -> int:
        """Short side in pixels before cropping."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the input for an image."""

    def apply(self, image: Image.Image) -> np.ndarray:
        """The input, float32 of `shape`."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is stored about an image, except its path; and the model's input."""

    facts: Facts
    thumbnail: bytes
    looks: int
    second: float | None
    pixels: np.ndarray


def read_pictures(path: Path, how: Preparing, thumbnails: bool = True) -> list[Picture]:
    """The picture of an image file, or those of a video; `ImageProblem` if there is none.

    Args:
        path: of the file.
        how: the model's preprocessing.
        thumbnails: whether to make them; otherwise they are empty.
    """
    kind = kind_of(path.name)
    if kind == "image":
        with reading(path, max(how.short_side, SIDE // 2)) as image:
            frame = Frame(image, *image.size)
            return [_picture(frame, _facts(path, image.size), how, thumbnails)]
    frames = (read_raw if kind == "raw" else read_video)(path, how.short_side)
    found = [
        _picture(frame, _facts(path, (frame.width, frame.height)), how, thumbnails)
        for frame in frames
    ]
    if not found:
        raise ImageProblem(path, "it contains no image")
    return found


def _picture(frame: Frame, facts: Facts, how: Preparing, thumbnails: bool) -> Picture:
    image = frame.image
    small = make_thumbnail(image) if thumbnails else b""
    return Picture(facts, small, looks(image), frame.second, how.apply(image))


def _facts(path: Path, size: tuple[int, int]) -> Facts:
    """Metadata of a readable file; only `size` if it has none."""
    kind = kind_of(path.name)
    try:
        with path.open("rb") as handle:
            if kind == "image":
                return read_facts(open_image(path, handle))
            if kind == "raw":  # most are TIFF, whose first image is a preview
                with Image.open(handle, formats=["TIFF"]) as image:
                    return replace(read_facts(image), width=size[0], height=size[1])
    except Exception:  # only metadata is lost
        pass
    return Facts(*size)


def read_many(
    paths: Iterable[Path], how: Preparing
) -> Iterator[tuple[Path, list[Picture] | ImageProblem]]:
    """`read_pictures` of files in order, computed ahead in threads.

    Args:
        paths: of the files.
        how: the model's preprocessing.
    """
    waiting: deque[tuple[Path, Future[list[Picture] | ImageProblem]]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for path in paths:
                waiting.append((path, pool.submit(_read, path, how)))
                if len(waiting) >= AHEAD:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _read(path: Path, how: Preparing) -> list[Picture] | ImageProblem:
    try:
        return read_pictures(path, how)
    except ImageProblem as problem:
        return problem
