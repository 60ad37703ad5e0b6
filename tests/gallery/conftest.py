import numpy as np
import pytest
from PIL import Image

from polyglance.recipes import load_recipe, parse_overrides
from polyglance.vision.networks.backbones import BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing
from tests.models.small import table_model

SMALL = ["text.embedder.word_dim=6", "text.encoder.hidden=8", "joint.dim=8"]
WORDS = ["red", "dog", "a", "hund", "roter"]


class Colours:
    """A stand-in for a network: a picture's mean colour."""

    preprocessing = Preprocessing(8, 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    identity = "colours"

    def dims(self):
        return 3, 0

    def __call__(self, pixels):
        return BackboneOutput(pixels.mean((2, 3)), None)


@pytest.fixture(autouse=True)
def colours(monkeypatch, tmp_path):
    """Makes the mean colour the feature behind every extractor name, in a fresh cache."""
    monkeypatch.setattr(
        "polyglance.vision.extraction.extract.open_backbone", lambda _name, _cache: Colours()
    )
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def make_model():
    def make(recipe="nce", *changes):
        made = load_recipe(recipe, parse_overrides([*SMALL, *changes]), shared=True)
        return table_model(made, WORDS, 3, ["de", "en"])

    return make


@pytest.fixture
def model(make_model):
    """A model of five words with random weights."""
    return make_model()


@pytest.fixture
def pictures(tmp_path):
    """Twelve one-coloured PNGs in a folder with a subfolder."""
    generator = np.random.default_rng(3)
    paths = []
    for number in range(12):
        path = tmp_path / "pictures" / ("deep" if number % 3 == 0 else ".") / f"{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        colour = tuple(int(value) for value in generator.integers(0, 256, 3))
        Image.new("RGB", (40, 20 + number), colour).save(path)
        paths.append(path)
    return paths
