"""Whole trainings on several languages: samplings, towers, primary languages, text-only tuples."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, recipe_names
from tests.training.runs import run, same


@pytest.mark.parametrize(
    "settings",
    [
        ["sampling.kind=languages", "sampling.c2c=0.5"],
        ["sampling.kind=languages", "sampling.c2c=0.5", "text.towers=per-language"],
        ["sampling.kind=joint", "sampling.c2c_weight=1", "text.towers=per-language"],
    ],
)
def test_tasks_learn_both_languages(toy: Path, tmp_path: Path, settings: list[str]) -> None:
    result = run(toy, tmp_path / "run", *settings, "training.epochs=16")
    assert min(result.progress.evaluations[-1]["mr"].values()) > 55


@pytest.mark.parametrize("name", [n for n in recipe_names() if n.startswith(("kadar", "gella"))])
def test_the_papers_recipes_run(toy: Path, tmp_path: Path, name: str) -> None:
    wanted = load_recipe(name).data.languages or []
    languages = [code for code in wanted if code in ("en", "de")]
    settings = [f"data.languages={languages}", "training.evaluate_every=20", "training.epochs=2"]
    result = run(toy, tmp_path / "run", *settings, recipe=name)
    assert sorted(result.progress.evaluations[-1]["mr"]) == sorted(languages)
    assert result.model.recipe.text.tokenizer == "moses+treebank"


def test_separate_towers_need_a_language(toy: Path, tmp_path: Path) -> None:
    settings = ["sampling.kind=languages", "text.towers=per-language", "training.epochs=1"]
    run(toy, tmp_path / "run", *settings)
    model = Model.load(tmp_path / "run")
    assert set(model.embedder.towers) == {"de", "en"}
    english = model.encode_text("red", "en")
    assert not np.allclose(english, model.encode_text("red", "de"))
    with pytest.raises(PolyglanceError, match="state the language"):
        model.encode_text("red")
    with pytest.raises(PolyglanceError, match="does not know the language 'fr'"):
        model.encode_text("rouge", "fr")


def test_primary_languages_decide(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", "training.primary=[de]")
    rsums = [6 * entry["mr"]["de"] for entry in result.progress.evaluations]
    assert result.progress.best == pytest.approx(max(rsums), abs=0.01)
    with pytest.raises(PolyglanceError, match=r"training\.primary: 'fr'"):
        run(toy, tmp_path / "other", "training.primary=[fr]")


def test_text_only_tuples_teach_their_words(toy: Path, tmp_path: Path) -> None:
    settings = ["sampling.kind=languages", "sampling.c2c=0.5", "sampling.text_only=true"]
    with pytest.raises(PolyglanceError, match="there is no text-only"):
        run(toy, tmp_path / "none", *settings)
    captions = {"en": {"translation": ["a zebra"]}, "de": {"translation": ["ein zebra"]}}
    line = json.dumps({"id": "1", "captions": captions})
    (toy / "text-only.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    result = run(toy, tmp_path / "run", *settings, "training.epochs=1")
    assert "zebra" in result.model.embedder.known_words("en")


def test_reversed_lengths_change_what_c2c_learns(toy: Path, tmp_path: Path) -> None:
    settings = ["sampling.kind=languages", "sampling.c2c=0.9", "training.epochs=1"]
    run(toy, tmp_path / "paper", *settings)
    run(toy, tmp_path / "authors", *settings, "compat.c2c_lengths=true")
    assert not same(tmp_path / "paper", tmp_path / "authors")


def test_an_evaluation_ends_every_run(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", "training.evaluate_every=999", "training.epochs=1")
    assert [e["update"] for e in result.progress.evaluations] == [result.progress.update]


def test_one_language_on_the_images_of_both(toy: Path, tmp_path: Path) -> None:
    result = run(
        toy, tmp_path / "run", "data.languages=[de]", "data.complete=[de,en]", "training.updates=2"
    )
    assert result.model.languages == ["de"]
