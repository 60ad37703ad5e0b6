"""From an RGB image to the input a network expects."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

MAX_ASPECT = 8
"""Beyond it the long side is cut before resizing; only the centre is used in any case."""


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How a network wants its input.

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

    @property
    def short_side(self) -> int:
        """Pixels of an image's short side before anything is cut out."""
        return round(self.size / self.crop)

    def apply(self, image: Image.Image) -> np.ndarray:
        """The network's input of an RGB image, float32 [3, size, size]."""
        return preprocess(image, self)


def preprocess(image: Image.Image, how: Preprocessing) -> np.ndarray:
    """The network's input, float32 [3, size, size], of an RGB image."""
    return to_pixels(cut_out(image, how), how)


def cut_out(image: Image.Image, how: Preprocessing) -> Image.Image:
    """What the network sees of an RGB image, size × size."""
    if how.squash:
        return image.resize((how.size, how.size), Image.Resampling[how.interpolation.upper()])
    return _centre(resize_short_side(image, how), how.size, how.size)


def to_pixels(image: Image.Image, how: Preprocessing) -> np.ndarray:
    """Standardised pixels of an RGB image, float32 [3, height, width]."""
    mean, std = np.array(how.mean, np.float32), np.array(how.std, np.float32)
    pixels = (np.asarray(image, np.float32) - mean) / std
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def resize_short_side(image: Image.Image, how: Preprocessing) -> Image.Image:
    """The image with its short side as `how` wants it, what is too long cut off."""
    short = min(image.size)
    width, height = (min(side, MAX_ASPECT * short) for side in image.size)
    image = _centre(image, width, height)
    scale = how.short_side / short
    size = round(width * scale), round(height * scale)
    return image.resize(size, Image.Resampling[how.interpolation.upper()])


def _centre(image: Image.Image, width: int, height: int) -> Image.Image:
    if image.size == (width, height):
        return image
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))
