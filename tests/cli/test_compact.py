"""Models in their deployed form give what they gave."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.translations.consistency import Consistency
from polyglance.evaluation.translations.consistency_file import read_weights, write_weights
from polyglance.models.compact import compact
from polyglance.recipes import load_recipe
from polyglance.text.embedders import UniversalEmbedder
from polyglance.text.embedders.universal.layout import Layout
from tests.training.test_trainer_universal import LATENT, run


@pytest.mark.parametrize("recipe", ["par-embn", "smalr"])
def test_a_compact_model_gives_the_same(toy: Path, tmp_path: Path, recipe: str) -> None:
    changes = LATENT if recipe == "smalr" else []
    model = run(toy, tmp_path / "run", recipe, "training.epochs=2", *changes).model
    weights = {"de": Consistency(np.array([0.25, 0.75], np.float32), 0.5)}
    write_weights(tmp_path / "run", ["de", "en"], "t", weights)
    result = CliRunner().invoke(
        app, ["compact", str(tmp_path / "run"), "--out", str(tmp_path / "small")]
    )
    assert result.exit_code == 0, result.output
    small = Model.load(tmp_path / "small")
    kept = read_weights(tmp_path / "small")
    assert kept is not None
    assert (kept.targets, kept.weights["de"].first.tolist()) == (["de", "en"], [0.25, 0.75])
    texts = ["rot hund läuft", "katze", "zebra", "weiß auto schläft"]
    np.testing.assert_allclose(
        small.encode_text(texts, "de"), model.encode_text(texts, "de"), atol=1e-5
    )
    dataset = load_dataset(toy).split("test")
    np.testing.assert_allclose(
        small.encode_dataset(dataset), model.encode_dataset(dataset), atol=1e-5
    )
    trained, deployed = model.parameters(), small.parameters()
    assert deployed["words"] == 0
    assert deployed["all"] == trained["all"] - trained["words"]
    towers = 2 if recipe == "par-embn" else 1
    assert deployed["frozen"] == (model.embedder.layout.total - 1 + towers) * 8
    with pytest.raises(PolyglanceError, match="already compact"):
        compact(small)


def test_the_matching_model_of_the_paper_has_7086592_parameters() -> None:
    recipe = load_recipe("smalr")
    words = UniversalEmbedder(recipe, {"en": {"dog": 1, "cat": 2}}, Layout(1, {"en": 1}))
    model = Model(recipe, words, 2048, ["en"])
    assert compact(model).parameters()["all"] == 7_086_592
    expected = 512 + 50 + (50 * 512 + 512) + 512  # latent, own, its layer, [MASK]
    assert model.parameters()["words"] == expected
