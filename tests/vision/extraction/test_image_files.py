import numpy as np
import pytest
from PIL import Image

from polyglance.recipes.schema import BackboneRecipe
from polyglance.vision.extraction.image_files import (
    ImageFiles,
    ahead,
    check_files,
    crop_box,
    load_eval_pixels,
    load_training_crop,
)
from polyglance.vision.networks.preprocess import Preprocessing

HOW = Preprocessing(16, 0.8, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_an_image_is_seen_as_features_see_it(pictures):
    with Image.open(pictures[0]) as image:
        expected = HOW.apply(image.convert("RGB"))
    np.testing.assert_array_equal(load_eval_pixels(pictures[0], HOW).transpose(2, 0, 1), expected)


@pytest.mark.parametrize("squash", [False, True])
def test_crops_lie_inside_and_have_the_asked_share(squash):
    settings = BackboneRecipe(smallest_crop=0.5, squash=squash)
    rng = np.random.default_rng(0)
    boxes = np.array([crop_box((40, 20), settings, rng) for _ in range(300)])
    left, top, right, bottom = boxes.T
    assert left.min() == 0 == top.min()
    assert (right.max(), bottom.max()) == (40, 20)
    width, height = right - left, bottom - top
    assert (height.min(), height.max()) == (10, 20)
    assert (np.abs(width - (2 * height if squash else height)) <= 1).all()


def test_a_glance_depends_on_its_generator_alone(pictures):
    settings = BackboneRecipe()
    first, again, other = (
        load_training_crop(pictures[0], HOW, settings, np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape == (16, 16, 3)
    assert (first != other).any()


def test_half_of_the_training_crops_are_mirrored(pictures):
    settings = BackboneRecipe(smallest_crop=1.0, squash=True)
    plain = load_training_crop(
        pictures[0], HOW, settings.model_copy(update={"flip": False}), _rng(0)
    )
    seen = [load_training_crop(pictures[0], HOW, settings, _rng(seed)) for seed in range(60)]
    same = sum(np.array_equal(one, plain) for one in seen)
    mirrored = sum(np.array_equal(one, plain[:, ::-1]) for one in seen)
    assert same + mirrored == 60
    assert 15 < same < 45


def test_batches_are_in_order_and_unreadable_files_are_listed(pictures, tmp_path):
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no image")
    paths = [*pictures[:5], broken]
    problems = check_files(paths, show_progress=False)
    assert [path for path, _ in problems] == [broken]
    files = ImageFiles("x/grid", paths, HOW, 8, 4, problems)
    assert files.available.tolist() == [True] * 5 + [False]
    assert files.lengths.tolist() == [4] * 5 + [0]
    assert [key is None for key in files.keys] == [False] * 5 + [True]
    batches = list(files.batches(np.array([3, 1, 4]), 2))
    assert [len(batch) for batch in batches] == [2, 1]
    np.testing.assert_array_equal(batches[0][1], load_eval_pixels(paths[1], HOW))


def test_work_ahead_is_bounded():
    begun = []

    def work(number):
        begun.append(number)
        return number * number

    found = ahead(range(100), work, 5)
    assert [next(found), next(found)] == [0, 1]
    assert max(begun) <= 7
    assert list(found) == [n * n for n in range(2, 100)]


def _rng(seed):
    return np.random.default_rng(seed)
