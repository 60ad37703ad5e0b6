"""Checks that all processes have the same commands, data and versions."""

import platform
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from polyglance.core.version import __version__
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import Recipe
from polyglance.storage.digest import content_digest
from polyglance.training.distributed.world import World
from polyglance.training.inputs.data import TrainingData

COMPARED = 16
"""Number of images whose features are compared."""


def check_same_command(world: World, recipe: Recipe, fingerprint: str, resume: bool) -> None:
    """Raise, in all processes, if versions, recipe or data differ between them.

    Also if the batch cannot be divided evenly.

    Args:
        world: the processes.
        recipe: of this one.
        fingerprint: of its data.
        resume: whether it resumes a run.
    """
    own = {
        "version of polyglance": __version__,
        "version of torch": torch.__version__,
        "version of Python": ".".join(platform.python_version_tuple()[:2]),
        "--resume": resume,
        **{
            f"recipe field {path}": value for path, value in _leaves(recipe.model_dump(mode="json"))
        },
        "data (a digest)": fingerprint,
    }
    _check(world, own)
    batch = recipe.training.batch_size
    if batch % world.size:
        lower = batch // world.size * world.size
        remedy = " or ".join(str(size) for size in (lower, lower + world.size) if size)
        raise PolyglanceError(
            f"training.batch_size={batch} does not divide by {world.size} processes; set it to "
            f"{remedy}, or start another number of processes"
        )


def check_same_data(world: World, data: TrainingData, network: nn.Module) -> None:
    """Raise if processes have different words or features, or built different networks.

    Args:
        world: the processes.
        data: of this process.
        network: of this process.
    """
    if world.is_single:
        return
    features = data.features
    rows = np.flatnonzero(features.available)
    rows = rows[:: max(1, len(rows) // COMPARED)]
    some = [features.sample(int(row)) for row in rows]
    shapes = [f"{name} {tuple(p.shape)}" for name, p in network.state_dict().items()]
    own = {
        "captions as word ids (a digest)": content_digest([data.ids.flat, data.ids.offsets]),
        "images of captions (a digest)": content_digest([data.image]),
        "image features (a digest)": content_digest([features.lengths, *some]),
        "network (a digest)": content_digest(shapes),
    }
    _check(world, own)


def _check(world: World, own: dict[str, Any]) -> None:
    if world.is_single:
        return
    every = world.gather_objects(own)
    for name in dict.fromkeys(name for one in every for name in one):
        for rank, other in enumerate(every):
            if other.get(name) != every[0].get(name):
                raise PolyglanceError(
                    f"the processes of this training differ in {name}: {every[0].get(name)} on "
                    f"rank 0, {other.get(name)} on rank {rank}; start all with the same command, "
                    "versions and data"
                )


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaf fields of a nested mapping, by path."""
    if not isinstance(value, Mapping):
        yield path, value
        return
    for name, inner in value.items():
        yield from _leaves(inner, f"{path}.{name}" if path else str(name))
