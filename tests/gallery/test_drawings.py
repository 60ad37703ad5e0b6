"""A model that has seen drawings alone says so, wherever its training's data lay."""

import json
import warnings
from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.data.generated import write_generated
from polyglance.errors import PolyglanceWarning
from polyglance.gallery import search
from polyglance.models import Model
from polyglance.recipes import load_recipe
from polyglance.training import train
from tests.gallery.conftest import SMALL

CHANGES = {one.partition("=")[0]: int(one.partition("=")[2]) for one in SMALL} | {
    "training.updates": 1,
    "text.embedder.min_count": 1,
}
TOLD = "trained on generated drawings"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    write_generated(tmp_path / "world", images=12, seed=0)
    return tmp_path / "world"


def test_datasets_of_drawings_are_known(world: Path, tmp_path: Path) -> None:
    assert load_dataset(world).drawings
    assert load_dataset("generated:photos=3", tmp_path / "cache").drawings
    table = tmp_path / "t.csv"
    table.write_text("path,caption,language\nworld/images/000000.jpg,a dog,en\n")
    assert load_dataset(table).drawings
    table.write_text("path,caption,language\na.jpg,a dog,en\n")
    assert not load_dataset(table).drawings


def test_an_answer_carries_a_warning(world: Path, pictures, tmp_path: Path) -> None:
    dataset = load_dataset(world)
    train(load_recipe("nce", CHANGES), dataset, tmp_path / "run", show_progress=False)
    model = Model.load(tmp_path / "run")
    word = model.embedder.known_words("en")[0]
    with pytest.warns(PolyglanceWarning, match=TOLD):
        found = search(model, pictures, word)
    assert any(TOLD in note for note in found.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in (dataset, world, world / "images"):
            search(model, place, word)
    model.save(tmp_path / "copy")
    assert Model.load(tmp_path / "copy").drawings


def test_models_of_version_0_1_0_are_known_by_their_data(model, pictures, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "model.json").read_text())
    for data, wanted in [("generated:photos=500", True), ("generated", True), ("flickr", False)]:
        (tmp_path / "m" / "model.json").write_text(json.dumps({**config, "data": data}))
        assert Model.load(tmp_path / "m").drawings is wanted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(tmp_path / "m", pictures, "dog")
