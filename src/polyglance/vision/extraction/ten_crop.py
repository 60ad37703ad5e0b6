"""Average features of ten crops of an image, as in MULE and SMALR.

Burns et al. 2020, SMALR, §4: "we average visual features over ten 448x448 image crops": corners
and centre, and the same mirrored. The paper does not state the size of the resized image; here,
as usual for ImageNet, the short side is 8/7 of a crop (512 for 448).
"""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import Device
from polyglance.vision.networks.backbones import Backbone, BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing, resize_short_side

FORM = "tencrop"
CROP = 0.875
CROPS = 10


@dataclass(frozen=True, slots=True)
class TenCropping(Preprocessing):
    """Ten crops of size × size of an image whose short side is round(size / crop)."""

    part_count: ClassVar[int] = CROPS

    def parts(self, image: Image.Image) -> list[Image.Image]:
        """Four corners and the centre, then the same mirrored."""
        image = resize_short_side(image, self)
        crops = [image.crop(box) for box in crop_boxes(*image.size, self.size)]
        return crops + [crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for crop in crops]


def crop_boxes(width: int, height: int, size: int) -> list[tuple[int, int, int, int]]:
    """Left, top, right and bottom of the crops: four corners and the centre.

    >>> crop_boxes(6, 4, 4)
    [(0, 0, 4, 4), (2, 0, 6, 4), (0, 0, 4, 4), (2, 0, 6, 4), (1, 0, 5, 4)]

    Args:
        width: of the image.
        height: of the image.
        size: side length of a crop, at most the image's.
    """
    right, bottom = width - size, height - size
    corners = [(0, 0), (right, 0), (0, bottom), (right, bottom), (right // 2, bottom // 2)]
    return [(left, top, left + size, top + size) for left, top in corners]


class TenCrops:
    """A network that sees ten crops of an image and averages their features."""

    def __init__(self, backbone: Backbone, size: int | None = None) -> None:
        own = backbone.preprocessing
        self.size = own.size if size is None else size
        self.backbone = backbone if self.size == own.size else backbone.at_size(self.size)
        self.identity = f"{backbone.identity}-{FORM}{self.size}"
        given = {field.name: getattr(own, field.name) for field in fields(Preprocessing)}
        changed = {"size": self.size, "crop": CROP, "squash": False}
        self.preprocessing: Preprocessing = TenCropping(**{**given, **changed})

    def dims(self) -> tuple[int, int]:
        """The dimension of the pooled vector, and 0: there is no grid."""
        return self.backbone.dims()[0], 0

    def at_size(self, size: int) -> "TenCrops":
        """Crops of another size."""
        return TenCrops(self.backbone, size)

    def to(self, device: Device) -> "TenCrops":
        """The network on a device."""
        self.backbone = self.backbone.to(device)
        return self

    def classifier(self) -> tuple[np.ndarray, np.ndarray] | None:
        """That of the network: logits are linear, so averaging before or after is the same."""
        return self.backbone.classifier()

    def __call__(self, pixels: np.ndarray) -> BackboneOutput:
        """Encode float32 [b, 10, 3, size, size], one image at a time."""
        try:
            found = [self.backbone(crops).pooled.mean(0) for crops in pixels]
        except (RuntimeError, AssertionError, ValueError) as error:
            if self.backbone.preprocessing.size == self.size:
                raise
            raise PolyglanceError(
                f"{self.identity}: the network does not accept crops of {self.size} pixels "
                f"({str(error).splitlines()[0]}); use /{FORM} for crops of its own size"
            ) from None
        return BackboneOutput(np.stack(found), None)


def open_ten_crops(backbone: Backbone, form: str) -> TenCrops:
    """The backbone with ten crops, of its own size (`tencrop`) or another (`tencrop448`).

    Args:
        backbone: the network.
        form: of the feature.
    """
    size = form.removeprefix(FORM)
    return TenCrops(backbone, int(size) if size else None)
