"""From an RGB image to the input a network expects."""

from dataclasses import dataclass
from typing import ClassVar, Literal

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

    seen: ClassVar[int] = 1
    """Parts of an image that the network sees; its features are the mean of theirs."""
    whole: ClassVar[bool] = False
    """Whether one of several parts is the whole image."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the network's input of an image: [3, size, size], or [seen, 3, size, size]."""
        one = (3, self.size, self.size)
        return one if self.seen == 1 else (self.seen, *one)

    @property
    def short_side(self) -> int:
        """Pixels of an image's short side before anything is cut out."""
        return round(self.size / self.crop)

    def parts(self, image: Image.Image) -> list[Image.Image]:
        """What the network sees of an RGB image, each size × size."""
        if self.squash:
            return [squashed(image, self)]
        return [_centre(resize_short_side(image, self), self.size, self.size)]

    def apply(self, image: Image.Image) -> np.ndarray:
        """The network's input of an RGB image, float32 of `shape`."""
        found = np.stack([to_pixels(part, self) for part in self.parts(image)])
        return found.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class CentreAndWhole(Preprocessing):
    """The centre of an image, and beside it the whole image squashed to size × size.

    The centre keeps proportions and details, the whole what lies at the ends.
    """

    seen: ClassVar[int] = 2
    whole: ClassVar[bool] = True

    def parts(self, image: Image.Image) -> list[Image.Image]:
        """The centre, then the whole."""
        return [*Preprocessing.parts(self, image), squashed(image, self)]


def squashed(image: Image.Image, how: Preprocessing) -> Image.Image:
    """The whole image, size × size, without its proportions."""
    return image.resize((how.size, how.size), Image.Resampling[how.interpolation.upper()])


def to_pixels(image: Image.Image, how: Preprocessing) -> np.ndarray:
    """Standardised pixels of an RGB image, float32 [3, height, width]."""
    seen = np.asarray(image)
    pixels = np.empty((3, *seen.shape[:2]), np.float32)
    # A channel at a time: three times as fast as all of them, whose numbers lie apart.
    for channel, mean, std in zip(range(3), how.mean, how.std, strict=True):
        np.subtract(seen[:, :, channel], np.float32(mean), out=pixels[channel])
        pixels[channel] /= np.float32(std)
    return pixels


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
