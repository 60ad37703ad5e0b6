"""Thumbnails of results, side by side."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image, ImageOps

from polyglance.data.images.read import reading
from polyglance.errors import ImageProblem
from polyglance.gallery.graphics.protocols import blocks, iterm2, kitty, sixel

WIDTH, HEIGHT, GAP = 18, 9, 1
"""Width of a thumbnail and of the gap, in characters."""
CELL = (10, 20)
"""Approximate size of a character in pixels on most terminals."""
LINES = 2
"""Largest number of rows of thumbnails per query."""
EMPTY = (128, 128, 128)
"""Colour of an image that is gone."""


def thumbnails(paths: Sequence[Path], protocol: str, columns: int) -> Iterator[str]:
    """Rows of thumbnails with their ranks below, as terminal output.

    Args:
        paths: of images, best first.
        protocol: one of `terminal.PROTOCOLS`.
        columns: width of the terminal.
    """
    beside = (columns + GAP) // (WIDTH + GAP)
    if protocol == "none" or beside < 1:
        return
    for start in range(0, min(len(paths), beside * LINES), beside):
        part = paths[start : start + beside]
        yield _shown(part, protocol)
        ranks = [str(rank).ljust(WIDTH + GAP) for rank in range(start + 1, start + 1 + len(part))]
        yield "".join(ranks).rstrip() + "\n"


def _shown(paths: Sequence[Path], protocol: str) -> str:
    unit = (1, 2) if protocol == "blocks" else CELL
    columns = len(paths) * (WIDTH + GAP) - GAP
    image = Image.new("RGBA", (columns * unit[0], HEIGHT * unit[1]))
    for number, path in enumerate(paths):
        size = (WIDTH * unit[0], HEIGHT * unit[1])
        image.paste(_thumbnail(path, size), (number * (WIDTH + GAP) * unit[0], 0))
    if protocol == "kitty":
        return kitty(image, columns, HEIGHT)
    if protocol == "iterm2":
        return iterm2(image, columns, HEIGHT)
    return sixel(image) if protocol == "sixel" else blocks(image)


def _thumbnail(path: Path, size: tuple[int, int]) -> Image.Image:
    """The whole image on a transparent ground, or grey if it cannot be read."""
    try:
        with reading(path, max(size)) as image:
            opaque = image.convert("RGBA")
            return ImageOps.pad(opaque, size, Image.Resampling.BICUBIC, color=(0, 0, 0, 0))
    except ImageProblem:
        return Image.new("RGBA", size, (*EMPTY, 255))
