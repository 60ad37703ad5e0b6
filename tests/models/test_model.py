"""Model: the API that users load."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.models.networks.attention import Sets
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.vision.extraction.extract import load_features
from tests.conftest import TOY, write_toy
from tests.models.small import table_model

GOLDEN = Path(__file__).parents[1] / "v0_1_0" / "models"
WORDS = ["a", "dog", "ein", "hund"]
TEXTS = ["a dog", "ein hund", "a", "dog a dog"]


def make(*changes: str, feature_dim: int = 16) -> Model:
    recipe = load_recipe("vsepp", parse_overrides([*TOY, *changes]))
    return table_model(recipe, WORDS, feature_dim, ["en", "de"])


@pytest.fixture
def model() -> Model:
    return make()


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


def test_missing_images_are_nan(model: Model, tmp_path: Path) -> None:
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
    model = make(feature_dim=12)
    dataset = load_dataset(write_toy(tmp_path / "toy", photos=8))
    with pytest.raises(PolyglanceError, match=r"features of dimension 12 .* has 16"):
        model.encode_dataset(dataset)


def test_imported_features_cannot_come_from_images(model: Model) -> None:
    with pytest.raises(PolyglanceError, match="cannot be computed from images"):
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


def violation(image: np.ndarray, text: np.ndarray) -> float:
    return -float(np.sqrt((np.maximum(text - image, 0) ** 2).sum()))


def angle(image: np.ndarray, text: np.ndarray) -> float:
    return float(image @ text / np.linalg.norm(image) / np.linalg.norm(text))


@pytest.mark.parametrize(
    ("changes", "name", "pair"),
    [
        ([], "cosine", angle),
        (["compat.no_imgnorm=true"], "dot", lambda image, text: float(image @ text)),
        (["joint.similarity.kind=order"], "order", violation),
        (["joint.similarity.kind=order", "joint.similarity.squared=true"], "order", violation),
    ],
)
def test_similarity_of_vectors(changes, name, pair):
    model = make(*changes)
    texts = model.encode_text(TEXTS)
    images = 3 * np.random.default_rng(0).random((5, model.dim), np.float32)
    expected = [[pair(image, text) for text in texts] for image in images]
    assert model.similarity_name == name
    np.testing.assert_allclose(model.similarity(images, texts), expected, atol=1e-5)
    assert model.similarity(images[0], texts).shape == (1, 4)
    assert model.similarity(images.tolist(), texts[1]).shape == (5, 1)


@pytest.mark.parametrize("name", ["scan", "imram"])
def test_similarity_of_sets(name):
    model = Model.load(GOLDEN / name)
    texts = model.encode_text(["a red dog", "cat", "green tree"], "en")
    images = model.encode_text(["red", "a cat", "dog", "green green tree"], "en")  # sets as any
    found = model.similarity(images, texts)
    assert model.similarity_name == name
    assert found.shape == (4, 3)
    for row, image in enumerate(images):
        for column, text in enumerate(texts):
            pair = [
                Sets(torch.from_numpy(one)[None], torch.tensor([len(one)])) for one in (image, text)
            ]
            with torch.inference_mode():
                expected = float(model.network.scores(*pair))
            assert found[row, column] == pytest.approx(expected, abs=1e-5)
