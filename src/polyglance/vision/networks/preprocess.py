"""Preprocessing: from an RGB image to a network's input."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from PIL import Image

MAX_ASPECT = 8
"""Largest aspect ratio: the rest is cut off before resizing, as only the centre is used."""


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """The preprocessing that a network expects.

    The short side becomes round(size / crop) and the centre size × size is cut out; with
    `squash` the whole image is resized to size × size instead. Pixels become
    (x − mean) / std with x in 0…255.
    """

    size: int
    crop: float
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Literal["bicubic", "bilinear", "nearest", "lanczos"] = "bicubic"
    squash: bool = False

    part_count: ClassVar[int] = 1
    """Number of parts of an image that are computed; their features are averaged."""
    whole: ClassVar[bool] = False
    """Whether one of the parts is the whole image."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the input for an image: [3, size, size], or [part_count, 3, size, size]."""
        one = (3, self.size, self.size)
        return one if self.part_count == 1 else (self.part_count, *one)

    @property
    def short_side(self) -> int:
        """Short side of an image in pixels before cropping."""
        return round(self.size / self.crop)

    def parts(self, image: Image.Image) -> list[Image.Image]:
        """The parts of an RGB image that are computed, each size × size."""
        if self.squash:
            return [squashed(image, self)]
        return [_centre(resize_short_side(image, self), self.size, self.size)]

    def apply(self, image: Image.Image) -> np.ndarray:
        """The network's input for an RGB image, float32 of `shape`."""
        found = np.stack([to_pixels(part, self) for part in self.parts(image)])
        return found.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class CentreAndWhole(Preprocessing):
    """The centre of an image, and the whole image squashed to size × size.

    The centre keeps proportions and details; the whole image includes the edges.
    """

    part_count: ClassVar[int] = 2
    whole: ClassVar[bool] = True

    def parts(self, image: Image.Image) -> list[Image.Image]:
        """The centre, then the whole."""
        return [*Preprocessing.parts(self, image), squashed(image, self)]


def squashed(image: Image.Image, preprocessing: Preprocessing) -> Image.Image:
    """The whole image resized to size × size, ignoring its proportions."""
    return image.resize(
        (preprocessing.size, preprocessing.size),
        Image.Resampling[preprocessing.interpolation.upper()],
    )


def to_pixels(image: Image.Image, preprocessing: Preprocessing) -> np.ndarray:
    """Standardised pixels of an RGB image, float32 [3, height, width]."""
    seen = np.asarray(image)
    pixels = np.empty((3, *seen.shape[:2]), np.float32)
    # Channel by channel: three times as fast as all at once, whose values are not contiguous.
    for channel, mean, std in zip(range(3), preprocessing.mean, preprocessing.std, strict=True):
        np.subtract(seen[:, :, channel], np.float32(mean), out=pixels[channel])
        pixels[channel] /= np.float32(std)
    return pixels


def resize_short_side(image: Image.Image, preprocessing: Preprocessing) -> Image.Image:
    """The image resized to the short side that `preprocessing` expects, its long side cropped."""
    short = min(image.size)
    width, height = (min(side, MAX_ASPECT * short) for side in image.size)
    image = _centre(image, width, height)
    scale = preprocessing.short_side / short
    size = round(width * scale), round(height * scale)
    return image.resize(size, Image.Resampling[preprocessing.interpolation.upper()])


def _centre(image: Image.Image, width: int, height: int) -> Image.Image:
    if image.size == (width, height):
        return image
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))
