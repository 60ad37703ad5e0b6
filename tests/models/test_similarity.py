"""`model.similarity` against each kind's definition, pair by pair."""

from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.models.attention import Sets
from polyglance.recipes import load_recipe
from polyglance.text import Vocabulary
from tests.conftest import TOY

GOLDEN = Path(__file__).parents[1] / "v0_1_0" / "models"
TEXTS = ["a dog", "ein hund", "a", "dog a dog"]


def make(*changes: str) -> Model:
    torch.manual_seed(0)
    words = Vocabulary(["a", "dog", "ein", "hund"])
    return Model(load_recipe("vsepp", [*TOY, *changes]), words, 16, ["en", "de"])


def violation(image: np.ndarray, text: np.ndarray) -> float:
    return -float(np.sqrt((np.maximum(text - image, 0) ** 2).sum()))


def angle(image: np.ndarray, text: np.ndarray) -> float:
    return float(image @ text / np.linalg.norm(image) / np.linalg.norm(text))


@pytest.mark.parametrize(
    ("changes", "name", "pair"),
    [
        ([], "cosine", angle),
        (["compat.no_imgnorm=true"], "dot", lambda image, text: float(image @ text)),
        (["joint.similarity=order"], "order", violation),
        (["joint.similarity=order-squared"], "order", violation),
    ],
)
def test_vectors(changes, name, pair):
    model = make(*changes)
    texts = model.encode_text(TEXTS)
    images = 3 * np.random.default_rng(0).random((5, model.dim), np.float32)
    expected = [[pair(image, text) for text in texts] for image in images]
    assert model.similarity_name == name
    np.testing.assert_allclose(model.similarity(images, texts), expected, atol=1e-5)
    assert model.similarity(images[0], texts).shape == (1, 4)
    assert model.similarity(images.tolist(), texts[1]).shape == (5, 1)


@pytest.mark.parametrize("name", ["scan", "imram"])
def test_sets(name):
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
                expected = float(model.network.eval().scores(*pair))
            assert found[row, column] == pytest.approx(expected, abs=1e-5)
