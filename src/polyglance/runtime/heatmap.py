"""Heat map of a match: the similarity of a query with each cell of an image."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from polyglance.vision.networks.preprocess import MAX_ASPECT, Preprocessing, to_pixels

if TYPE_CHECKING:
    from polyglance.runtime.model import ExportedModel

WINDOW = 3
"""Window side in cells: single cells are too noisy (measured by `benchmarks/heatmap.py`)."""
OVERLAP = 2
"""How many squares cover each point of a long image, except at its ends."""


@dataclass(frozen=True, slots=True)
class _Squares:
    """Squares [k, 3, size, size] along the longer side of an image, as network input."""

    pixels: np.ndarray
    starts: np.ndarray
    """[k], start of each square, in units of a square."""
    length: float
    """Length of the longer side, in squares."""
    landscape: bool
    """Whether the longer side is the width."""


def heat_map(model: "ExportedModel", image: Image.Image, vector: np.ndarray) -> np.ndarray:
    """Similarities [rows, columns] of a query with the parts of a whole image.

    The image network is applied to squares along the longer side, which includes parts outside the
    centre that the image's embedding ignores. If the network takes squashed images, so does this.

    Args:
        model: whose image network is run; an export without one is an error.
        image: upright, RGB.
        vector: the query's embedding [D].
    """
    squares = _squares(image, model.images.preprocessing)
    cells = model.images.embed_cells(squares.pixels, WINDOW)
    found = model.similarity(cells.reshape(-1, cells.shape[-1]), vector[None])
    return _joined(found.reshape(cells.shape[:3]), squares)


def _squares(image: Image.Image, preprocessing: Preprocessing) -> _Squares:
    side, method = preprocessing.size, Image.Resampling[preprocessing.interpolation.upper()]
    landscape = image.width >= image.height
    aspect = 1.0 if preprocessing.squash else min(MAX_ASPECT, max(image.size) / min(image.size))
    long = round(side * aspect)
    scaled = image.resize((long, side) if landscape else (side, long), method)
    count = 1 + int(np.ceil(OVERLAP * (long - side) / side))
    starts = np.linspace(0, long - side, count).round().astype(int)
    boxes = [(at, 0, at + side, side) if landscape else (0, at, side, at + side) for at in starts]
    pixels = np.stack([to_pixels(scaled.crop(box), preprocessing) for box in boxes])
    return _Squares(pixels, starts / side, long / side, landscape)


def _joined(maps: np.ndarray, squares: _Squares) -> np.ndarray:
    """One map from those of the squares [k, cells, cells], averaged where they overlap."""
    turned = maps if squares.landscape else maps.transpose(0, 2, 1)
    across, along = turned.shape[1:]
    total = np.zeros((across, max(along, round(squares.length * along))), np.float32)
    count = np.zeros(total.shape[1], np.float32)
    for one, start in zip(turned, squares.starts, strict=True):
        first = min(round(start * along), len(count) - along)
        total[:, first : first + along] += one
        count[first : first + along] += 1
    found = total / count
    return found if squares.landscape else found.T
