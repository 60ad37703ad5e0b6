"""Which part of an image matched: the similarity of a query with each cell of the image."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from polyglance.vision.networks.preprocess import MAX_ASPECT, Preprocessing, to_pixels

if TYPE_CHECKING:
    from polyglance.runtime.model import ExportedModel

WINDOW = 3
"""Cells, along each side, of a part that is compared: one alone shows too little (measured by
`benchmarks/heat.py`)."""
OVERLAP = 2
"""Squares that see each place of a long image, but for its ends."""


@dataclass(frozen=True, slots=True)
class _Squares:
    """Squares [k, 3, size, size] along the longer side of an image, as the network takes them."""

    pixels: np.ndarray
    starts: np.ndarray
    """[k], where each begins, in parts of a square."""
    length: float
    """Of the longer side, in squares."""
    lies: bool
    """Whether the longer side is the width."""


def heat_map(model: "ExportedModel", image: Image.Image, vector: np.ndarray) -> np.ndarray:
    """Similarities [rows, columns] of a query with the parts of an image, the whole of it.

    The image network sees squares along the longer side, so that also those parts count which the
    embedding of the image, made of its centre, leaves out. Where the network takes images squeezed
    into a square, so they are here.

    Args:
        model: whose image network is run; one that was exported without it is an error.
        image: upright, RGB.
        vector: the query's embedding [D].
    """
    squares = _squares(image, model.images.preprocessing)
    cells = model.images.embed_cells(squares.pixels, WINDOW)
    found = model.similarity(cells.reshape(-1, cells.shape[-1]), vector[None])
    return _joined(found.reshape(cells.shape[:3]), squares)


def _squares(image: Image.Image, how: Preprocessing) -> _Squares:
    side, method = how.size, Image.Resampling[how.interpolation.upper()]
    lies = image.width >= image.height
    aspect = 1.0 if how.squash else min(MAX_ASPECT, max(image.size) / min(image.size))
    long = round(side * aspect)
    scaled = image.resize((long, side) if lies else (side, long), method)
    count = 1 + int(np.ceil(OVERLAP * (long - side) / side))
    starts = np.linspace(0, long - side, count).round().astype(int)
    boxes = [(at, 0, at + side, side) if lies else (0, at, side, at + side) for at in starts]
    pixels = np.stack([to_pixels(scaled.crop(box), how) for box in boxes])
    return _Squares(pixels, starts / side, long / side, lies)


def _joined(maps: np.ndarray, squares: _Squares) -> np.ndarray:
    """One map of those of the squares [k, cells, cells]; where they overlap, the mean."""
    turned = maps if squares.lies else maps.transpose(0, 2, 1)
    across, along = turned.shape[1:]
    total = np.zeros((across, max(along, round(squares.length * along))), np.float32)
    count = np.zeros(total.shape[1], np.float32)
    for one, start in zip(turned, squares.starts, strict=True):
        first = min(round(start * along), len(count) - along)
        total[:, first : first + along] += one
        count[first : first + along] += 1
    found = total / count
    return found if squares.lies else found.T
