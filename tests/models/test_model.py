"""Model: the API that users load."""

import json
from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text import Vocabulary
from polyglance.vision.extract import load_features
from tests.conftest import TOY, write_toy


@pytest.fixture
def model() -> Model:
    vocabulary = Vocabulary(["a", "dog", "ein", "hund"])
    return Model(
        load_recipe("vsepp", parse_overrides(TOY), shared=True), vocabulary, 16, ["en", "de"]
    )


def test_save_and_load_give_the_same_vectors(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m", note="kept")
    again = Model.load(tmp_path / "m")
    texts = ["a dog", "ein Hund", "a"]
    np.testing.assert_allclose(model.encode_text(texts), again.encode_text(texts), atol=1e-6)
    assert again.languages == ["de", "en"]
    assert json.loads((tmp_path / "m" / "model.json").read_text())["note"] == "kept"


def test_one_text_or_many(model: Model) -> None:
    many = model.encode_text(["a dog", "a", "ein hund a dog"], batch_size=2)
    assert many.shape == (3, 16)
    assert many.dtype == np.float32
    np.testing.assert_allclose(model.encode_text("a")[0], many[1], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(many, axis=1), 1, atol=1e-5)


def test_a_text_without_words_is_named(model: Model) -> None:
    with pytest.raises(PolyglanceError, match=r"'\.\.\.' has no words"):
        model.encode_text(["a dog", "..."])


def test_encoding_leaves_training_mode_alone(model: Model) -> None:
    model.network.train()
    model.encode_text("a")
    assert model.network.training


def test_missing_pictures_are_nan(model: Model, tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "toy", photos=8)
    text = (folder / "features" / "toy" / "index.jsonl").read_text().splitlines()
    (folder / "features" / "toy" / "index.jsonl").write_text("\n".join(text[:-1]) + "\n")
    vectors = model.encode_dataset(load_dataset(folder))
    assert np.isnan(vectors).all(axis=1).tolist() == [False] * 7 + [True]


def test_sets_of_vectors_are_pooled(tmp_path: Path, model: Model) -> None:
    dataset = load_dataset(write_toy(tmp_path / "toy", photos=8, form="set"))
    features = load_features(dataset, "imported/toy")
    batch = model.encode_features(features, np.arange(8))
    alone = np.concatenate([model.encode_features(features, np.array([i])) for i in range(8)])
    np.testing.assert_allclose(batch, alone, atol=1e-6)


def test_features_of_another_size_are_refused(tmp_path: Path) -> None:
    model = Model(
        load_recipe("vsepp", parse_overrides(TOY), shared=True), Vocabulary(["a"]), 12, ["en"]
    )
    dataset = load_dataset(write_toy(tmp_path / "toy", photos=8))
    with pytest.raises(PolyglanceError, match=r"features of size 12 .* has size 16"):
        model.encode_dataset(dataset)


def test_imported_features_cannot_come_from_pictures(model: Model) -> None:
    with pytest.raises(PolyglanceError, match="cannot be computed from pictures"):
        model.encode_images(["a.jpg"])


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda m: (m / "model.json").unlink(), "not a model"),
        (lambda m: (m / "model.json").write_text("{}"), "format 1"),
        (lambda m: (m / "model.safetensors").unlink(), "no weights yet"),
        (lambda m: (m / "model.safetensors").write_bytes(b"x" * 40), "weights do not fit"),
        (lambda m: (m / "vocabulary.json").write_text('{"words": ["a"]}'), "weights do not fit"),
    ],
)
def test_damaged_models_are_explained(model: Model, tmp_path: Path, break_it, message: str) -> None:
    model.save(tmp_path / "m")
    break_it(tmp_path / "m")
    with pytest.raises(PolyglanceError, match=message):
        Model.load(tmp_path / "m")


def test_parameters_are_counted_by_part(model: Model) -> None:
    sizes = model.parameters()
    assert sizes["words"] == 8 * 8
    assert sizes["all"] == sizes["image"] + sizes["words"] + sizes["text"]
