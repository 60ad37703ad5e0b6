"""Batches prepared ahead by threads are those prepared one after the other."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.training.images import prepared
from polyglance.training.inputs.data import fresh_model, prepare
from polyglance.training.samplers import samplers
from polyglance.training.steps import steps
from tests.devices.recipes import World


def first(world: World, name: str, cache: Path, device: str) -> list[Any]:
    """What a training reads in its updates from number 3 on."""
    recipe = world.recipe(name, "augment.word_drop=0.3", "augment.vector_drop=0.3")
    torch.manual_seed(0)
    start, data = prepare(recipe, load_dataset(world.data(name)), fresh_model, None, cache, False)
    sampler = samplers.get(recipe.sampling.kind)(recipe, data)
    step = steps.get(recipe.sampling.kind)(start.model, data, sampler)
    found = prepared(step, sampler.batches(3), 3, torch.device(device))
    return [read for _, read in islice(found, 7)]


def arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, torch.Tensor):
        return [value.numpy()]
    if isinstance(value, tuple | list):
        return [array for one in value for array in arrays(one)]
    return []


@pytest.mark.parametrize("name", ["vse-infinity", "gella-parallel-asym"])
def test_threads_change_nothing(world: World, name: str, tmp_path: Path) -> None:
    inline = first(world, name, tmp_path, "cpu")
    ahead = first(world, name, tmp_path, "cuda:0")
    for one, other in zip(inline, ahead, strict=True):
        both = list(zip(arrays(one), arrays(other), strict=True))
        assert len(both) > 3
        for a, b in both:
            np.testing.assert_array_equal(a, b)
