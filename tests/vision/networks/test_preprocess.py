import math

import numpy as np
import pytest
from PIL import Image

from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.preprocess import CentreAndWhole, Preprocessing


def bicubic_matrix(source, target):
    """Antialiased bicubic resampling (a = −0.5) of one axis as a matrix, from the definition."""
    scale = source / target
    width = 2 * max(scale, 1.0)
    matrix = np.zeros((target, source))
    for row in range(target):
        centre = (row + 0.5) * scale
        for column in range(source):
            x = abs(column + 0.5 - centre) / max(scale, 1.0)
            if abs(column + 0.5 - centre) < width:
                near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * (x**3 - 5 * x**2 + 8 * x - 4)
                matrix[row, column] = near if x < 1 else far if x < 2 else 0
    return matrix / matrix.sum(1, keepdims=True)


@pytest.mark.parametrize(("width", "height"), [(50, 40), (40, 57), (20, 31)])
def test_golden_against_the_definition(width, height):
    lite = Preprocessing(28, 0.875, (127.0,) * 3, (128.0,) * 3)
    picture = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    short = round(28 / 0.875)
    scale = short / min(width, height)
    wide, high = round(width * scale), round(height * scale)
    # Resampling is done in bytes: along the rows, rounded and clipped, then along the columns.
    resized = np.einsum("xw,hwc->hxc", bicubic_matrix(width, wide), picture.astype(float))
    resized = np.rint(resized).clip(0, 255)
    resized = np.rint(np.einsum("yh,hxc->yxc", bicubic_matrix(height, high), resized))
    top, left = (high - 28) // 2, (wide - 28) // 2
    expected = (resized[top : top + 28, left : left + 28].clip(0, 255) - 127) / 128
    actual = lite.apply(Image.fromarray(picture))
    assert actual.dtype == np.float32
    assert actual.shape == (3, 28, 28)
    np.testing.assert_allclose(actual, expected.transpose(2, 0, 1), atol=1.01 / 128)


def test_lite_values():
    lite2 = backbones.get("efficientnet-lite2").preprocessing
    assert lite2.size == 260
    assert round(lite2.size / lite2.crop) == 297
    white = lite2.apply(Image.new("RGB", (300, 400), (255, 127, 0)))
    assert white.shape == (3, 260, 260)
    np.testing.assert_allclose(white[:, 7, 7], [1.0, 0.0, -127 / 128])


def test_channels_have_their_own_mean_and_std():
    how = Preprocessing(4, 1.0, (10.0, 20.0, 30.0), (1.0, 2.0, 5.0), "bilinear")
    pixels = how.apply(Image.new("RGB", (9, 7), (20, 40, 60)))
    np.testing.assert_allclose(pixels[:, 0, 0], [10, 10, 6])


def test_squash_keeps_the_borders():
    how = Preprocessing(8, 1.0, (0.0,) * 3, (1.0,) * 3, "nearest", squash=True)
    picture = np.zeros((8, 32, 3), np.uint8)
    picture[:, :4], picture[:, -4:] = 50, 90
    pixels = how.apply(Image.fromarray(picture))
    assert pixels[0, 0].tolist() == [50, 0, 0, 0, 0, 0, 0, 90]


def test_the_whole_beside_the_centre():
    how = CentreAndWhole(8, 1.0, (0.0,) * 3, (1.0,) * 3, "nearest")
    picture = np.zeros((8, 32, 3), np.uint8)
    picture[:, :4], picture[:, 14:18], picture[:, -4:] = 50, 70, 90
    centre, whole = how.apply(Image.fromarray(picture))
    assert how.shape == (2, 3, 8, 8)
    assert centre[0, 0].tolist() == [0, 0, 70, 70, 70, 70, 0, 0]
    assert whole[0, 0].tolist() == [50, 0, 0, 70, 0, 0, 0, 90]


@pytest.mark.parametrize("size", [(1, 1), (1, 50_000), (50_000, 2), (3, 1)])
def test_extreme_shapes_stay_small(size):
    how = Preprocessing(24, 0.875, (0.0,) * 3, (1.0,) * 3)
    pixels = how.apply(Image.new("RGB", size, (7, 7, 7)))
    assert pixels.shape == (3, 24, 24)
    assert math.isclose(float(pixels.mean()), 7, abs_tol=1e-4)


def test_cutting_a_long_picture_first_does_not_change_its_centre():
    picture = np.random.default_rng(0).integers(0, 256, (12, 400, 3), np.uint8)
    how = Preprocessing(24, 1.0, (0.0,) * 3, (1.0,) * 3)
    whole = Image.fromarray(picture).resize((800, 24), Image.Resampling.BICUBIC)
    expected = np.asarray(whole.crop((388, 0, 412, 24))).transpose(2, 0, 1)
    np.testing.assert_array_equal(how.apply(Image.fromarray(picture)), expected)
