"""Pictures through an exported image network and tower."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import ImageProblem, PolyglanceError, UnreadableImageWarning
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.conftest import TOY
from tests.vision.networks.test_backbones import needs

pytestmark = needs("efficientnet-lite0")
Pair = tuple[Model, ExportedModel, Path]


@pytest.fixture(scope="module", params=["nce:global", "vse-infinity:grid3"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A model of fresh weights, its export, and a cache."""
    name, form = request.param.split(":")
    changes = [*TOY, f"image.feature=efficientnet-lite0/{form}"]
    recipe = load_recipe(name, parse_overrides(changes))
    folder = tmp_path_factory.mktemp(name)
    model = Model(recipe, TableEmbedder(recipe, {"": Vocabulary(["dog"])}), 1280, ["en"])
    export_model(model, folder / "out", cache=folder / "cache")
    return model, load(folder / "out"), folder / "cache"


def pictures() -> list[Image.Image]:
    """Of several sizes, so that one batch has portraits and landscapes."""
    generator = np.random.default_rng(0)
    shapes = [(240, 320), (400, 250), (30, 40)]
    noise = [generator.integers(0, 256, (6, 5, 3), np.uint8) for _ in shapes]
    return [
        Image.fromarray(one).resize(shape[::-1]) for one, shape in zip(noise, shapes, strict=True)
    ]


def test_the_same_embeddings(pair: Pair) -> None:
    model, other, cache = pair
    expected = model.encode_images(pictures(), cache, show_progress=False)
    found = other.encode_images(pictures(), show_progress=False)
    assert found.shape == (3, 16)
    assert np.abs(found - expected).max() <= 1e-5


def test_the_whole_beside_the_centre(pair: Pair, tmp_path: Path) -> None:
    model, other, cache = pair
    if "set" in other.manifest.images:
        with pytest.raises(PolyglanceError, match="one vector"):
            export_model(model, tmp_path / "out", cache=cache, whole=True)
        return
    export_model(model, tmp_path / "out", cache=cache, whole=True)
    whole = load(tmp_path / "out")
    how = other.images.preprocessing
    parts = [np.stack([replace(how, squash=on).apply(p) for p in pictures()]) for on in (0, 1)]
    features = np.mean([other.images._features(pixels) for pixels in parts], 0)
    found = whole.encode_images(pictures(), show_progress=False)
    np.testing.assert_allclose(found, other.encode_features(features[:, 0]), atol=1e-5)
    assert np.abs(found - other.encode_images(pictures(), show_progress=False)).max() > 1e-3


def test_unreadable_pictures(pair: Pair, tmp_path: Path) -> None:
    other = pair[1]
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    given = [pictures()[0], tmp_path / "a.jpg", pictures()[2]]
    with pytest.raises(ImageProblem, match=r"a\.jpg"):
        other.encode_images(given)
    with pytest.warns(UnreadableImageWarning, match="skipped"):
        found = other.encode_images(given, on_error="skip")
    assert np.isnan(found).all(1).tolist() == [False, True, False]
    np.testing.assert_allclose(found[[0, 2]], other.encode_images(pictures())[[0, 2]], atol=1e-6)
