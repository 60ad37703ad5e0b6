"""SCAN and IMRAM through the commands that train, evaluate, compare and search."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import Ensemble, evaluate
from polyglance.numerics.sets import VectorSets
from polyglance.text.embedders import TextBatch
from tests.conftest import write_toy
from tests.training.runs import run, same

RECIPES = ["scan-t2i", "scan-i2t", "imram"]


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """The toy dataset with two to four vectors an image."""
    return write_toy(tmp_path / "toy", form="set")


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_learn_in_both_languages(sets: Path, tmp_path: Path, recipe: str) -> None:
    result = run(sets, tmp_path / "run", "training.epochs=2", recipe=recipe)
    assert min(result.progress.evaluations[-1]["mr"].values()) > 60
    model, dataset = Model.load(tmp_path / "run"), load_dataset(sets)
    report = evaluate(model, dataset, "val", bootstrap=0)
    done = result.progress
    best = next(e for e in done.evaluations if e["update"] == done.best_update)
    assert {r.language: round(r.metrics.mr, 3) for r in report.results} == best["mr"]
    assert report.similarity == recipe.split("-")[0]
    assert ("attention" in model.parameters()) == (recipe == "imram")


def test_captions_against_captions_and_separate_towers(sets: Path, tmp_path: Path) -> None:
    settings = ["sampling.kind=languages", "sampling.c2c=0.5", "text.towers=per-language"]
    result = run(sets, tmp_path / "run", *settings, "training.epochs=3", recipe="scan-t2i")
    assert min(result.progress.evaluations[-1]["mr"].values()) > 45


def test_augmented_sets_and_words(sets: Path, tmp_path: Path) -> None:
    settings = ["augment.vector_drop=0.3", "augment.word_drop=0.3", "training.epochs=1"]
    result = run(sets, tmp_path / "a", *settings, recipe="scan-i2t")
    assert np.isfinite(result.progress.best)
    run(sets, tmp_path / "b", *settings, recipe="scan-i2t")
    assert same(tmp_path / "a", tmp_path / "b")


def test_scores_of_a_model_are_those_of_its_network(sets: Path, tmp_path: Path) -> None:
    run(sets, tmp_path / "run", "training.epochs=1", recipe="scan-t2i")
    model, part = Model.load(tmp_path / "run"), load_dataset(sets).split("test")
    images = model.encode_dataset(part)
    captions = model.encode_text(["red dog", "a cat that sleeps", "tree"], "en")
    assert isinstance(images, VectorSets)
    assert captions.lengths.tolist() == [4, 6, 3]  # with both ends
    scores = model.similarity(images, captions)
    encoded = model.tokens(["red dog", "a cat that sleeps", "tree"], "en")
    for row, column in ((0, 0), (7, 1), (19, 2)):
        words = torch.from_numpy(encoded.ids[column].astype(np.int64))[None]
        with torch.inference_mode():
            batch = TextBatch(words, torch.tensor([words.shape[1]]))
            text = model.network.embed_text(batch, "en")
            image = torch.from_numpy(images[row : row + 1].flat)[None]
            pair = type(text)(image, torch.tensor([image.shape[1]]))
            expected = float(model.network.scores(pair, text))
        assert scores[row, column] == pytest.approx(expected, abs=1e-5)


def test_one_vector_per_image_is_an_error_before_training(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="cross-attention needs several"):
        run(toy, tmp_path / "run", recipe="scan-t2i")
    with pytest.raises(PolyglanceError, match="uses no pooling"):
        run(toy, tmp_path / "run", "image.pooling=max", recipe="scan-t2i")
    assert not (tmp_path / "run").exists()


def test_a_mixed_ensemble_from_the_command_line(sets: Path, tmp_path: Path) -> None:
    for name in ("scan-t2i", "vsepp", "order"):
        run(sets, tmp_path / name, "training.epochs=2", recipe=name)
    runs = [str(tmp_path / name) for name in ("scan-t2i", "vsepp", "order")]
    words = ["evaluate", *runs, "--ensemble", "--data", str(sets), "--bootstrap", "20"]
    result = CliRunner().invoke(app, [*words, "--json", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    assert "scan and cosine and order scores have different scales" in result.stderr
    found = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert [one["model"] for one in found] == ["scan-t2i", "vsepp", "order", "ensemble"]
    ensemble = Ensemble([Model.load(path) for path in runs])
    again = evaluate(ensemble, load_dataset(sets), bootstrap=0)
    assert again["de"].metrics.mr == pytest.approx(found[3]["languages"]["de"]["mr"])


def test_there_is_nothing_to_search_by(sets: Path, tmp_path: Path) -> None:
    run(sets, tmp_path / "run", "training.epochs=1", recipe="scan-t2i")
    result = CliRunner().invoke(app, ["search", str(tmp_path / "run"), str(sets), "red dog"])
    assert isinstance(result.exception, PolyglanceError)
    assert "no single vector per image" in str(result.exception)
