"""Which part of an image matched."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.data.photographs import photographs
from polyglance.errors import PolyglanceError
from polyglance.runtime import ExportedModel, load, shipped
from polyglance.runtime.encoding.images import _blurred
from polyglance.runtime.heatmap import heat_map

ASKED = {"cat": "a cat", "flower": "una flor", "temple": "a temple"}


@pytest.fixture(scope="module")
def base() -> ExportedModel:
    return load(shipped())


@pytest.fixture(scope="module")
def squares() -> dict[str, Image.Image]:
    try:
        found = {one.name: path for path, one in photographs().items()}
    except PolyglanceError as problem:
        pytest.skip(str(problem))
    return {name: square(found[name]) for name in ASKED}


def square(path: Path) -> Image.Image:
    image = Image.open(path).convert("RGB")
    short = min(image.size)
    left, top = (image.width - short) // 2, (image.height - short) // 2
    return image.crop((left, top, left + short, top + short)).resize((260, 260))


@pytest.mark.parametrize("lies", [True, False])
def test_the_map_points_at_the_right_photograph(
    base: ExportedModel, squares: dict[str, Image.Image], lies: bool
) -> None:
    right = 0
    vectors = dict(zip(ASKED, base.encode_text(list(ASKED.values())), strict=True))
    pairs = list(permutations(ASKED, 2))
    for first, second in pairs:
        both = Image.new("RGB", (520, 260) if lies else (260, 520))
        both.paste(squares[first], (0, 0))
        both.paste(squares[second], (260, 0) if lies else (0, 260))
        found = heat_map(base, both, vectors[first])
        assert found.shape == ((9, 18) if lies else (18, 9))
        halves = np.split(found, 2, axis=1 if lies else 0)
        right += halves[0].mean() > halves[1].mean()
    assert right >= len(pairs) - 1  # by chance half of them are


def test_a_long_image_is_seen_to_its_ends(
    base: ExportedModel, squares: dict[str, Image.Image]
) -> None:
    """The embedding of the image is of its centre alone, the map is not."""
    long = Image.new("RGB", (2600, 260), "white")
    long.paste(squares["cat"], (2340, 0))
    (vector,) = base.encode_text([ASKED["cat"]])
    found = heat_map(base, long, vector)
    assert found.shape == (9, 72)  # beyond eight to one it is squeezed
    assert found.argmax() % 72 > 60


def test_means_over_windows_are_those_of_existing_cells() -> None:
    grid = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype(np.float32)
    found = _blurred(grid, 3)
    np.testing.assert_allclose(found[0, 1, 2], grid[0, 0:3, 1:4].mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(found[1, 0, 0], grid[1, :2, :2].mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(found[1, 3, 4], grid[1, 2:, 3:].mean((0, 1)), rtol=1e-5)
    np.testing.assert_array_equal(_blurred(grid, 1), grid)
