"""Images from programs: paths, bytes of files, Pillow images, arrays."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from polyglance.data.images.rgb import to_rgb
from polyglance.errors import PolyglanceError

GivenImage = str | os.PathLike[str] | bytes | bytearray | memoryview | Image.Image | np.ndarray
"""An image: a path, the bytes of a file, a Pillow image, or an array [H, W] or [H, W, 1|3|4] of
uint8 or of floats from 0 to 1."""

_HEIF = (b"heic", b"heix", b"mif1", b"msf1")


@contextmanager
def as_files(images: Iterable[GivenImage] | GivenImage) -> Iterator[tuple[list[Path], list[str]]]:
    """Paths of images, and their names for errors; images without a path are written to a temporary
    folder, so that all are read in the same way."""
    given = listed(images)
    with tempfile.TemporaryDirectory(prefix="polyglance-") as folder:
        paths, names = [], []
        for number, image in enumerate(given, 1):
            if isinstance(image, str | os.PathLike):
                path = _named(image)
                name = str(path)
            else:
                name = f"image {number}"
                path = _written(image, Path(folder) / str(number), name)
            paths.append(path)
            names.append(name)
        yield paths, names


def listed(images: Iterable[GivenImage] | GivenImage) -> Sequence[GivenImage]:
    """A list of one or several images; an array [n, H, W, C] is several."""
    single = str | os.PathLike | bytes | bytearray | memoryview | Image.Image
    if isinstance(images, single):
        return [images]
    if isinstance(images, np.ndarray):
        several = images.ndim == 4 or images.dtype.kind in "USO"
        return list(images) if several else [images]
    try:
        return list(images)
    except TypeError:
        raise PolyglanceError(
            f"{type(images).__name__} is not an image; pass a path, the bytes of a file, a Pillow "
            "image or an array, or a list of these"
        ) from None


def _named(image: str | os.PathLike[str]) -> Path:
    if not os.fspath(image):
        raise PolyglanceError("'' is not the path of an image")
    return Path(image)


def _written(image: Any, path: Path, name: str) -> Path:
    if isinstance(image, bytes | bytearray | memoryview):
        data = bytes(image)
        if data[4:8] == b"ftyp" and data[8:12] in _HEIF:
            path = path.with_suffix(".heic")
        path.write_bytes(data)
        return path
    if isinstance(image, np.ndarray):
        image = Image.fromarray(_pixels(image, name))
    if not isinstance(image, Image.Image):
        raise PolyglanceError(f"{name}: {type(image).__name__} is not an image; see encode_images")
    path = path.with_suffix(".bmp")  # lossless and fast
    to_rgb(Path(name), image).save(path)
    return path


def _pixels(values: np.ndarray, name: str) -> np.ndarray:
    """Pixels for Pillow: uint8 [H, W] or [H, W, 3|4]."""
    shape, kind = values.shape, values.dtype
    if values.ndim == 3 and shape[2] == 1:
        values = values[:, :, 0]
    if values.ndim not in (2, 3) or (values.ndim == 3 and shape[2] not in (3, 4)) or 0 in shape:
        raise PolyglanceError(
            f"{name}: an array of shape {list(shape)} is not an image; pass [height, width] or "
            "[height, width, 3 or 4]"
        )
    if kind == np.uint8:
        return values
    if kind.kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if kind.kind == "f" and np.isfinite(values).all() and 0 <= values.min() <= values.max() <= 1:
        return np.rint(values.astype(np.float64) * 255).astype(np.uint8)
    raise PolyglanceError(
        f"{name}: pixels must be uint8, or floats from 0 to 1; these are {kind} from "
        f"{values.min()} to {values.max()}"
    )
