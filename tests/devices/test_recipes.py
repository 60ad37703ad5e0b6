"""Every packaged recipe trains, encodes and is evaluated on a GPU, as far as one can tell here."""

from pathlib import Path

import pytest
import torch

from polyglance.data import load_dataset
from polyglance.recipes import recipe_names
from tests.devices.pretend import pretend_gpu
from tests.devices.recipes import Record, World, trained

TOLERANCE = 1e-4


RECIPES = [*((name, []) for name in recipe_names()), ("mule", ["sampling.pretrain_updates=1"])]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("name", "changes"), RECIPES)
def test_updates_and_evaluations_on_cuda(
    world: World, name: str, changes: list[str], tmp_path: Path
) -> None:
    """Forward, losses, backward, clipping, optimizer, checkpoint, encoding and ranks."""
    here, _ = trained(world, name, tmp_path / "cpu", "cpu", changes)
    with pretend_gpu():
        there, result = trained(world, name, tmp_path / "cuda", "cuda", changes)
        assert str(result.model.device) == "cuda:0"
        text = load_dataset(world.data(name)).captions(["en"]).texts[0]
        assert len(result.model.encode_text([text], "en")) == 1
    assert there.devices == {"cuda:0"}
    assert here.devices == {"cpu"}
    _same_first_update(here, there)


BACKBONES = {
    "views": ["image.backbone.views=2", "image.backbone.train=last"],
    "keep": [
        "image.backbone.views=2",
        "image.backbone.train=last",
        "image.backbone.keep=1",
        "image.head.kind=classes",
    ],
    "whole": ["image.backbone.whole=true"],
    "chunk": ["image.backbone.chunk=4"],
    "classes": ["image.head.kind=classes"],
}


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("case", BACKBONES)
def test_image_networks_on_cuda(world: World, case: str, tmp_path: Path) -> None:
    """Each training has a cache of its own: views that the CPU stored would not be computed."""
    changes = [*BACKBONES[case], "image.backbone.frozen_epochs=0"]
    here, _ = trained(world, "nce-e2e", tmp_path / "cpu", "cpu", changes, cache=tmp_path / "a")
    with pretend_gpu():
        there, result = trained(
            world, "nce-e2e", tmp_path / "cuda", "cuda", changes, cache=tmp_path / "b"
        )
        image = load_dataset(world.data("nce-e2e")).paths()[0]
        assert len(result.model.encode_images([image])) == 1
    assert there.devices == {"cuda:0"}
    assert any(".backbone." in name for name in there.gradients)
    _same_first_update(here, there)


def _same_first_update(here: Record, there: Record) -> None:
    assert there.losses[0] == pytest.approx(here.losses[0], rel=TOLERANCE)
    assert there.gradients.keys() == here.gradients.keys()
    largest = max(float(wanted.abs().max()) for wanted in here.gradients.values())
    for part, wanted in here.gradients.items():
        torch.testing.assert_close(
            there.gradients[part], wanted, atol=TOLERANCE * largest, rtol=TOLERANCE, msg=part
        )
