"""Ten crops: boxes, pixels and means by hand, and as an extractor's form."""

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.vision.extraction.extract import extract_many
from polyglance.vision.extraction.features import parse_feature
from polyglance.vision.extraction.ten_crop import TenCropping, TenCrops
from polyglance.vision.networks.backbones import BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing
from tests.vision.conftest import Blocks


def picture(width, height, seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return Image.fromarray(noise), noise


def test_crops_are_four_corners_and_the_centre_and_their_mirrors():
    """An image whose short side is 32 = 28 / 0.875 is cut without resizing."""
    image, noise = picture(45, 32)
    how = TenCropping(28, 0.875, (1.0, 2.0, 3.0), (2.0, 4.0, 8.0))
    found = how.apply(image)
    assert (found.shape, found.dtype) == ((10, 3, 28, 28), np.float32)
    values = (noise.astype(np.float32) - [1, 2, 3]) / [2, 4, 8]
    tops_and_lefts = [(0, 0), (0, 17), (4, 0), (4, 17), (2, 8)]
    for number, (top, left) in enumerate(tops_and_lefts):
        wanted = values[top : top + 28, left : left + 28].transpose(2, 0, 1)
        np.testing.assert_allclose(found[number], wanted, rtol=1e-6)
        np.testing.assert_allclose(found[number + 5], wanted[:, :, ::-1], rtol=1e-6)


def test_images_of_any_size_are_brought_to_eight_sevenths():
    for size in ((300, 20), (20, 300), (512, 512), (33, 32)):
        found = TenCropping(28, 0.875, (0.0,) * 3, (1.0,) * 3).apply(picture(*size)[0])
        assert found.shape == (10, 3, 28, 28)


class Sized(Blocks):
    """A network that takes any multiple of four, and one that takes its own size only."""

    def __init__(self, strict=False):
        super().__init__("sized")
        self.strict = strict

    def at_size(self, size):
        return self

    def __call__(self, pixels):
        self.seen.append(pixels.shape)
        if self.strict and pixels.shape[-1] != 24:
            raise RuntimeError("wrong size\nmore")
        return BackboneOutput(pixels.mean((2, 3)) * 2, None)


def test_vectors_are_the_mean_over_crops():
    backbone = Sized()
    crops = TenCrops(backbone, 28)
    pixels = np.random.default_rng(0).random((2, 10, 3, 28, 28), np.float32)
    found = crops(pixels)
    np.testing.assert_allclose(found.pooled, 2 * pixels.mean((1, 3, 4)), rtol=1e-5)
    assert (found.grid, crops.dims(), crops.identity) == (None, (3, 0), "sized-tencrop28")
    assert backbone.seen == [(10, 3, 28, 28)] * 2  # an image at a time: crops are large


def test_the_extractor_keeps_ten_crops_apart(tmp_path, pictures, monkeypatch):
    backbone = Sized()
    monkeypatch.setattr(
        "polyglance.vision.extraction.extract.open_backbone", lambda _name, _cache: backbone
    )
    names = ["x/tencrop28", "x/global", "x/tencrop"]
    large, plain, small = extract_many(pictures[:3], names, tmp_path / "cache")
    assert [one.name for one in (large, plain, small)] == names
    assert {one.form for one in (large, plain, small)} == {"global"}
    assert len({one.store.folder for one in (large, plain, small)}) == 3
    for number, path in enumerate(pictures[:3]):
        how = TenCropping(28, 0.875, (0.0,) * 3, (1.0,) * 3)
        wanted = 2 * how.apply(Image.open(path)).mean((0, 2, 3))
        found = large.gather_global(np.array([number]))[0]
        np.testing.assert_allclose(found, wanted, rtol=2e-3)
    assert {shape[-1] for shape in backbone.seen} == {24, 28}
    again = extract_many(pictures[:3], names[:1], tmp_path / "cache")[0]
    assert again.computed == 0


def test_a_network_of_one_size_says_so(tmp_path, pictures, monkeypatch):
    backbone = Sized(strict=True)
    monkeypatch.setattr(
        "polyglance.vision.extraction.extract.open_backbone", lambda _name, _cache: backbone
    )
    with pytest.raises(PolyglanceError, match=r"does not accept crops of 28 pixels \(wrong size\)"):
        extract_many(pictures[:1], ["x/tencrop28"], tmp_path / "cache")
    assert extract_many(pictures[:1], ["x/tencrop"], tmp_path / "cache")[0].available.all()


def test_names():
    assert parse_feature("torchvision:resnet152/tencrop448") == (
        "torchvision:resnet152",
        "tencrop448",
    )
    for name in ("x/tencrop0", "x/tencrop44x", "x/ten"):
        with pytest.raises(PolyglanceError, match="EXTRACTOR/tencropN"):
            parse_feature(name)
    image = load_recipe("mule", parse_overrides(["image.feature=x/tencrop448"])).image
    assert image.is_global


def test_preprocessing_of_one_crop_is_as_before():
    """Its form names stores of features: it must not change."""
    how = Preprocessing(24, 0.875, (0.0,) * 3, (1.0,) * 3)
    assert repr(how) == (
        "Preprocessing(size=24, crop=0.875, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), "
        "interpolation='bicubic', squash=False)"
    )
