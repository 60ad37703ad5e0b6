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
from polyglance.library.media.exif import FileMetadata, read_metadata
from polyglance.library.media.kinds import Frame, kind_of
from polyglance.library.media.perceptual_hash import perceptual_hash
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
class DecodedImage:
    """What is stored about an image, except its path; and the model's input."""

    metadata: FileMetadata
    thumbnail: bytes
    perceptual_hash: int
    second: float | None
    pixels: np.ndarray


def read_media(path: Path, preprocessing: Preparing, thumbnails: bool = True) -> list[DecodedImage]:
    """The image in a file, or the frames of a video; `ImageProblem` if there is none.

    Args:
        path: of the file.
        preprocessing: the model's preprocessing.
        thumbnails: whether to make them; otherwise they are empty.
    """
    kind = kind_of(path.name)
    if kind == "image":
        with reading(path, max(preprocessing.short_side, SIDE // 2)) as image:
            frame = Frame(image, *image.size)
            return [_decoded(frame, _metadata(path, image.size), preprocessing, thumbnails)]
    frames = (read_raw if kind == "raw" else read_video)(path, preprocessing.short_side)
    found = [
        _decoded(frame, _metadata(path, (frame.width, frame.height)), preprocessing, thumbnails)
        for frame in frames
    ]
    if not found:
        raise ImageProblem(path, "it contains no image")
    return found


def _decoded(
    frame: Frame, metadata: FileMetadata, preprocessing: Preparing, thumbnails: bool
) -> DecodedImage:
    image = frame.image
    small = make_thumbnail(image) if thumbnails else b""
    return DecodedImage(
        metadata, small, perceptual_hash(image), frame.second, preprocessing.apply(image)
    )


def _metadata(path: Path, size: tuple[int, int]) -> FileMetadata:
    """Metadata of a readable file; only `size` if it has none."""
    kind = kind_of(path.name)
    try:
        with path.open("rb") as handle:
            if kind == "image":
                return read_metadata(open_image(path, handle))
            if kind == "raw":  # most are TIFF, whose first image is a preview
                with Image.open(handle, formats=["TIFF"]) as image:
                    return replace(read_metadata(image), width=size[0], height=size[1])
    except Exception:  # only metadata is lost
        pass
    return FileMetadata(*size)


def read_many(
    paths: Iterable[Path], preprocessing: Preparing
) -> Iterator[tuple[Path, list[DecodedImage] | ImageProblem]]:
    """`read_media` of files in order, computed ahead in threads.

    Args:
        paths: of the files.
        preprocessing: the model's preprocessing.
    """
    waiting: deque[tuple[Path, Future[list[DecodedImage] | ImageProblem]]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for path in paths:
                waiting.append((path, pool.submit(_read, path, preprocessing)))
                if len(waiting) >= AHEAD:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _read(path: Path, preprocessing: Preparing) -> list[DecodedImage] | ImageProblem:
    try:
        return read_media(path, preprocessing)
    except ImageProblem as problem:
        return problem
