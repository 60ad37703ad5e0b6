"""Decodes served files: images, RAW files, and frames of videos."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from polyglance.data.images.read import reading
from polyglance.errors import ImageProblem
from polyglance.library.media.kinds import kind_of, needed_package
from polyglance.library.media.raw import read_raw
from polyglance.library.media.video import read_video

_one_at_a_time = threading.Lock()
"""RAW files and videos decoded at a time: they take long, and much memory."""


def is_image(path: Path) -> bool:
    """Whether a file is an image that Pillow reads, not a RAW file or a video."""
    return kind_of(path.name) in (None, "image")


@contextmanager
def decoding(path: Path, name: str, at_least: int | None = None) -> Iterator[Image.Image]:
    """The upright RGB image with an id; raises `ImageProblem`.

    Args:
        path: of its file.
        name: the id, which says the position of a frame in a video.
        at_least: pixels of the shorter side that suffice; large JPEGs and RAW files are then
            decoded at reduced size.
    """
    if is_image(path):
        with reading(path, at_least) as image:
            yield image
    else:
        yield _frame(path, name.partition("@")[2], at_least)


def _frame(path: Path, second: str, at_least: int | None) -> Image.Image:
    kind = kind_of(path.name)
    package = needed_package(str(kind))
    if package is not None:
        raise ImageProblem(path, f"needs 'pip install {package}'")
    with _one_at_a_time:
        # Without a size, RAW files are developed at full resolution.
        frames = (read_raw if kind == "raw" else read_video)(path, at_least or 10**9)
        for frame in frames:
            if frame.second is None or f"{frame.second:g}" == second:
                return frame.image
    raise ImageProblem(path, "the video does not have this frame")
