"""Mistakes about pretrained encoders are told before anything is made."""

import shutil
import sys
from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.text.embedders.pretrained import encoder_folder, located
from polyglance.training import train
from tests.text.pieces import piece_recipe
from tests.text.tiny_bert import without_weights, write_bert


def test_invalid_settings_are_refused_before_files_are_written(
    toy: Path, tmp_path: Path, bert: Path
) -> None:
    def told(folder: Path, message: str, *more: str) -> None:
        with pytest.raises(PolyglanceError, match=message) as error:
            train(piece_recipe(folder, *more), load_dataset(toy), tmp_path / "run")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "run").exists()

    told(tmp_path / "nowhere", "contains no encoder")
    told(without_weights(bert, tmp_path / "bare"), "no weights")
    told(write_bert(tmp_path / "maskless", mask=False), r"no mask token; set augment\.word_drop=0")
    told(bert, r"one tower for all languages: set text\.towers=shared", "text.towers=per-language")
    shutil.copytree(bert, tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"x" * 50)
    told(tmp_path / "broken", "cannot load the encoder")
    (tmp_path / "broken" / "config.json").write_text('{"model_type": "t5"}')
    told(tmp_path / "broken", "is not a text encoder")


def test_the_error_for_a_recipe_without_a_folder_says_what_to_set() -> None:
    text = load_recipe("vse-infinity-bert").text
    with pytest.raises(PolyglanceError, match=r"--set text\.encoder\.pretrained=FOLDER"):
        encoder_folder(text)
    plain = load_recipe("vsepp").text
    with pytest.raises(ValueError, match="no pretrained transformer"):
        encoder_folder(plain)


def test_the_encoder_of_a_saved_model_is_in_its_folder(bert: Path, tmp_path: Path) -> None:
    recipe = piece_recipe(bert)
    found = located(recipe, tmp_path)
    assert found.text.encoder.pretrained == str(tmp_path / "encoder")
    assert recipe.text.encoder.pretrained == str(bert)
    frozen = load_recipe("cmlr", {"text.embedder": {"kind": "transformer", "pretrained": "x"}})
    assert located(frozen, tmp_path).text.embedder.pretrained == str(tmp_path / "encoder")


def test_missing_transformers_is_an_error(
    toy: Path, tmp_path: Path, bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(PolyglanceError, match="pip install transformers"):
        train(piece_recipe(bert), load_dataset(toy), tmp_path / "run")
