"""The recipes around VSE∞: the papers' numbers, and runs on the toy dataset."""

from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from tests.conftest import write_toy
from tests.training.test_trainer import run

SMALL = ("image.head.hidden=8", "training.epochs=8", "training.evaluate_every=9999")
NAMES = [
    "vse-infinity",
    "vse-infinity-grid",
    "vsepp-improved",
    "vsrn",
    "video-vsepp",
    "video-vse-infinity",
]


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_from_sets(tmp_path: Path, name: str) -> None:
    toy = write_toy(tmp_path / "toy", form="set")
    result = run(toy, tmp_path / "run", *SMALL, recipe=name)
    # 20 photographs are judged, and many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 50


def test_the_baseline_differs_in_its_poolings_only() -> None:
    ours = load_recipe("vse-infinity").model_dump()
    baseline = load_recipe("vsepp-improved").model_dump()
    for section in ("image", "text"):
        assert ours[section].pop("pooling") == "gpo"
        assert baseline[section].pop("pooling") == "mean"
    for words in ("name", "paper", "summary"):
        del ours[words], baseline[words]
    assert ours == baseline


def test_the_bert_recipe_differs_in_its_text_tower_only() -> None:
    ours = load_recipe("vse-infinity")
    bert = load_recipe("vse-infinity-bert")
    assert (bert.image, bert.loss, bert.joint) == (ours.image, ours.loss, ours.joint)
    assert bert.training.multipliers == {"text.encoder": 0.1}
    assert bert.augment == ours.augment.model_copy(update={"include_ends": False})


def test_the_end_to_end_recipe_has_the_papers_schedule() -> None:
    recipe = load_recipe("vse-infinity-grid-e2e")
    backbone = recipe.image.backbone
    assert backbone is not None
    assert (backbone.train, backbone.input_size) == ("all", 512)
    assert (backbone.frozen_epochs, backbone.stage_epochs) == (1, 0)
    assert (backbone.multiplier, backbone.lower_multiplier) == (0.1, 0.1)
    # The learning rate grows in the epoch in which the backbone is trained first.
    assert recipe.training.warmup_epoch == backbone.frozen_epochs


def test_the_bert_recipe_asks_for_its_encoder(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"--set text\.encoder\.pretrained=FOLDER"):
        run(toy, tmp_path / "run", recipe="vse-infinity-bert")
    assert not (tmp_path / "run").exists()
