"""Models without two towers that ONNX can express say why they are not exported."""

from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import export_model
from polyglance.text.embedders import PieceEmbedder, TableEmbedder, Vocabulary
from tests.conftest import TOY


def refused(model: Model, folder: Path, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        export_model(model, folder / "out")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scan-t2i", "'scan-t2i' compares several vectors"),
        ("imram", "cannot be exported"),
        ("cvse", "'cvse' adds knowledge about concepts"),
    ],
)
def test_other_networks(name: str, message: str, tmp_path: Path) -> None:
    recipe = load_recipe(name, parse_overrides(TOY))
    words = TableEmbedder(recipe, {"": Vocabulary(["dog", "cat"])})
    refused(Model(recipe, words, 16, ["en"]), tmp_path, message)


def test_transformers(bert: Path, tmp_path: Path) -> None:
    changes = [f"text.encoder.pretrained={bert}", "image.feature=imported/toy"]
    recipe = load_recipe("vse-infinity-bert", parse_overrides(changes))
    model = Model(recipe, PieceEmbedder.open(recipe, bert), 16, ["en"])
    refused(model, tmp_path, "a transformer's tokenization")
