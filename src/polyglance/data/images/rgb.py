"""Converts decoded images to RGB in bands, so that only the result takes additional memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from polyglance.errors import ImageProblem

BAND = 500_000
"""Pixels converted at a time."""


def to_rgb(path: Path, image: Image.Image) -> Image.Image:
    """A new upright RGB image; `path` is for errors."""
    return convert_to_rgb(path, _upright(image))


def convert_to_rgb(path: Path, image: Image.Image) -> Image.Image:
    """A new RGB image: transparency on white, 16 bits and floats scaled to 8.

    Args:
        path: of the image, for errors.
        image: decoded and upright.
    """
    if image.mode.startswith(("I", "F")):
        return _grey(path, image).convert("RGB")
    if image.has_transparency_data:
        return _on_white(image)
    return image.convert("RGB")


def turn_upright(image: Image.Image) -> None:
    """Undo the rotation in an image's EXIF data, in place."""
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except Exception:  # damaged EXIF data does not matter
        return


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:
        return image


def _bands(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """(first row, rows of the image) from top to bottom."""
    rows = max(1, BAND // max(image.width, 1))
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _on_white(image: Image.Image) -> Image.Image:
    result = Image.new("RGB", image.size)
    for top, band in _bands(image):
        white = Image.new("RGBA", band.size, "white")
        white.alpha_composite(band.convert("RGBA"))
        result.paste(white.convert("RGB"), (0, top))
    return result


def _grey(path: Path, image: Image.Image) -> Image.Image:
    """Scale grey values (16 or 32 bits, or floats) to 8 bits."""
    low, high, kind = np.inf, -np.inf, "u"
    for _, band in _bands(image):
        values = np.asarray(band)
        if not np.isfinite(values).all():
            raise ImageProblem(path, "the pixels contain NaN or infinity")
        low, high = min(low, float(values.min())), max(high, float(values.max()))
        kind = values.dtype.kind
    base, top = _range(low, high, kind == "f")
    result = Image.new("L", image.size)
    for row, band in _bands(image):
        scaled = (np.asarray(band) - base).astype(np.float64) if base else np.asarray(band)
        grey = np.rint(scaled.astype(np.float64) * (255.0 / top)).astype(np.uint8)
        result.paste(Image.fromarray(grey), (0, row))
    return result


def _range(low: float, high: float, floats: bool) -> tuple[float, float]:
    """(black, white − black) for values from `low` to `high`."""
    if floats and low >= 0 and high <= 1:
        return 0.0, 1.0
    if floats and low >= 0 and high <= 255:
        return 0.0, 255.0
    if low >= 0 and high <= 65535:
        return 0.0, 65535.0
    return low, max(high - low, 1.0)
