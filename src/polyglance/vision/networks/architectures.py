"""Image networks as trainable stages: EfficientNet-Lite, torchvision's and timm's."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from polyglance.errors import PolyglanceError
from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.external import blank_network, file_preprocessing, open_external
from polyglance.vision.networks.lite import pretrained
from polyglance.vision.networks.lite_network import copy_pretrained, lite_stages
from polyglance.vision.networks.preprocess import Preprocessing

UNITS = ("features", "blocks", "stages")
"""Modules that are sequences themselves."""
HEADS = ("avgpool", "global_pool", "fc", "classifier", "head", "heads", "head_drop", "flatten")
"""Modules after the last grid."""
SMALLEST = 64
"""Side length in pixels of the input that a network is probed with."""
TOLERANCE = 1e-3
META = "meta"
"""Torch's device whose tensors have no values."""


@dataclass(frozen=True)
class Architecture:
    """A trainable image network.

    Args:
        name: of the network.
        dim: dimension of a grid cell.
        build: returns its stages with random weights; each one reduces the grid.
        load: gives stages the published weights, or those in the user's file.
        cells: side length of the grid, by side length of the image in pixels.
    """

    name: str
    dim: int
    build: Callable[[], list[nn.Module]]
    load: Callable[[list[nn.Module]], None]
    cells: Callable[[int], int]


def architecture(name: str) -> Architecture:
    """The network of an extractor such as efficientnet-lite2 or torchvision:resnet50@FILE."""
    if ":" in name:
        return _external(name)
    lite = backbones.get(name)
    if lite.int8:
        raise PolyglanceError(
            f"image.backbone: '{name}' computes in 8 bits and cannot be trained; set "
            f"image.feature to one of {lite.exact}"
        )
    return Architecture(
        name,
        lite.dim,
        lambda: lite_stages(lite.number),
        lambda stages: copy_pretrained(pretrained(lite), stages),
        lambda size: -(-size // 32),
    )


def published_preprocessing(name: str) -> Preprocessing:
    """The preprocessing that a network was published with, or that its weights file specifies."""
    return file_preprocessing(name) if ":" in name else backbones.get(name).preprocessing


def norms(stages: list[nn.Module]) -> Iterator[nn.Parameter]:
    """Parameters of batch norms, which are never trained."""
    for stage in stages:
        for part in stage.modules():
            if isinstance(part, _BatchNorm):
                yield from part.parameters()


def depthwise(stages: list[nn.Module]) -> Iterator[nn.Parameter]:
    """Parameters of depthwise convolutions, which have one kernel per channel."""
    for stage in stages:
        for part in stage.modules():
            groups, weight = getattr(part, "groups", 1), getattr(part, "weight", None)
            if groups > 1 and isinstance(weight, nn.Parameter) and len(weight) == groups:
                yield from part.parameters(recurse=False)


def _external(name: str) -> Architecture:
    dim, _ = _tried(name, SMALLEST)
    return Architecture(
        name,
        dim,
        lambda: _stages(name),
        lambda stages: _load(name, stages),
        lambda size: _tried(name, size)[1],
    )


@cache
def _tried(name: str, size: int) -> tuple[int, int]:
    """Channels and side length of the last grid, found without computing it."""
    pixels = torch.zeros(1, 3, size, size, device=META)
    grid = _run(nn.Sequential(*_units_without_values(name)), pixels, name)
    return grid.shape[1], grid.shape[2]


def _stages(name: str) -> list[nn.Module]:
    """The modules of a network, divided into stages where the grid gets smaller."""
    images, starts = torch.zeros(1, 3, SMALLEST, SMALLEST, device=META), []
    for unit in _units_without_values(name):
        before = images.shape[2]
        images = _run(unit, images, name)
        starts.append(images.shape[2] < before)
    stages: list[list[nn.Module]] = [[]]
    for unit, starts_one in zip(_units(name), starts, strict=True):
        if starts_one and stages[-1]:
            stages.append([])
        stages[-1].append(unit)
    return [nn.Sequential(*parts) for parts in stages]


def _units(name: str) -> list[nn.Module]:
    """The modules of a network, in order, up to the last grid."""
    found: list[nn.Module] = []
    for part, module in blank_network(name).eval().named_children():
        if part in HEADS:
            break
        found += module.children() if part in UNITS else [module]
    return found


def _units_without_values(name: str) -> list[nn.Module]:
    """The same modules, whose weights take no memory."""
    try:
        with torch.device(META):
            return _units(name)
    except PolyglanceError:  # RegNet computes the sizes of its layers with tensors
        return [unit.to(META) for unit in _units(name)]


def _run(module: nn.Module, images: Tensor, name: str) -> Tensor:
    try:
        grid = module(images)
    except (RuntimeError, TypeError, ValueError, AssertionError):
        grid = None
    if not isinstance(grid, Tensor) or grid.ndim != 4:
        raise PolyglanceError(_unknown(name))
    return grid


def _load(name: str, stages: list[nn.Module]) -> None:
    """Copy the published weights, and check the stages against the original network."""
    original = open_external(name)
    state = _flat(original.module)
    own = nn.Sequential(*stages)
    names = list(own.state_dict())
    if len(names) != len(state):
        raise PolyglanceError(_unknown(name))
    own.load_state_dict(dict(zip(names, state, strict=True)))
    pixels = torch.randn(2, 3, SMALLEST, SMALLEST, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        grid, expected = own.eval()(pixels), original(pixels.numpy()).grid
    if expected is None or not _close(grid.permute(0, 2, 3, 1), torch.from_numpy(expected)):
        raise PolyglanceError(_unknown(name))


def _flat(network: Any) -> list[Tensor]:
    """Weights of a network's modules, in the order of `_units`."""
    parts = [module for part, module in network.named_children() if part not in HEADS]
    return [value for part in parts for value in part.state_dict().values()]


def _close(found: Tensor, expected: Tensor) -> bool:
    if found.shape != expected.shape:
        return False
    scale = max(1.0, float(expected.abs().max()))
    return bool((found - expected).abs().max() < TOLERANCE * scale)


def _unknown(name: str) -> str:
    return (
        f"image.backbone: '{name}' is not a sequence of stages that ends in a grid, so it cannot "
        "be trained; use a network such as torchvision:resnet50, or stored features"
    )
