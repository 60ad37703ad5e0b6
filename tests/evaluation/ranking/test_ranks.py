import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.evaluation.ranking.ranks import rank_both
from polyglance.evaluation.ranking.strict import rank_own_captions


def brute_force(scores, owner):
    """Ranks by Python's stable sort of captions kept in the order of their photographs."""
    images, captions = range(len(scores)), range(len(owner))
    by_photograph = sorted(captions, key=lambda j: owner[j])
    image_to_text, own = [], {}
    for i in images:
        line = sorted(by_photograph, key=lambda j: -scores[i][j])
        places = {j: place for place, j in enumerate(line) if owner[j] == i}
        image_to_text.append(min(places.values()))
        own |= places
    text_to_image = [sorted(images, key=lambda i: -scores[i][j]).index(owner[j]) for j in captions]
    return image_to_text, text_to_image, [own[j] for j in captions]


@st.composite
def problems(draw):
    """Small integer scores, so that ties abound, and any number of captions per image."""
    images = draw(st.integers(1, 7))
    extra = draw(st.lists(st.integers(0, images - 1), max_size=12))
    owner = draw(st.permutations([*range(images), *extra]))
    cells = st.lists(st.integers(-2, 2), min_size=len(owner), max_size=len(owner))
    scores = draw(st.lists(cells, min_size=images, max_size=images))
    chunk = draw(st.tuples(st.integers(1, 8), st.integers(1, 20)))
    return scores, owner, chunk


@settings(deadline=None, max_examples=200)
@given(problems())
def test_equals_brute_force_whatever_the_tiles(problem):
    scores, owner, chunk = problem
    images, captions = np.eye(len(scores)), np.array(scores).T
    ranks = rank_both(images, captions, np.array(owner), chunk=chunk)
    image_to_text, text_to_image, own = brute_force(scores, owner)
    assert ranks.image_to_text.tolist() == image_to_text
    assert ranks.text_to_image.tolist() == text_to_image
    assert rank_own_captions(images, captions, np.array(owner)).tolist() == own


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 64))
def test_equals_brute_force_on_vectors(seed, count, dimension):
    """Whole numbers, whose products float32 holds exactly."""
    generator = np.random.default_rng(seed)
    images = generator.integers(-9, 10, size=(count, dimension))
    owner = np.concatenate([np.arange(count), generator.integers(count, size=2 * count)])
    captions = images[owner] + generator.integers(-5, 6, size=(len(owner), dimension))
    ranks = rank_both(images, captions, owner, chunk=(16, 32))
    image_to_text, text_to_image, _ = brute_force((images @ captions.T).tolist(), owner.tolist())
    assert ranks.image_to_text.tolist() == image_to_text
    assert ranks.text_to_image.tolist() == text_to_image


def test_perfect_and_reversed():
    eye = np.eye(4, dtype=np.float32)
    assert rank_both(eye, eye, np.arange(4)).text_to_image.tolist() == [0, 0, 0, 0]
    worst = rank_both(eye, -eye, np.arange(4))
    assert worst.text_to_image.tolist() == [3, 3, 3, 3]
    assert worst.image_to_text.tolist() == [3, 3, 3, 3]


def test_equal_scores_are_chance_not_success():
    ones = np.ones((100, 8), np.float32)
    ranks = rank_both(ones, ones.repeat(5, axis=0), np.arange(100).repeat(5), chunk=(7, 13))
    assert ranks.text_to_image.tolist() == np.arange(100).repeat(5).tolist()
    assert ranks.image_to_text.tolist() == (5 * np.arange(100)).tolist()


def test_zero_vectors_do_not_win():
    images, captions = np.zeros((10, 4), np.float32), np.zeros((10, 4), np.float32)
    assert np.mean(rank_both(images, captions, np.arange(10)).text_to_image == 0) == 0.1


@pytest.mark.parametrize("where", ["images", "captions"])
def test_nan_is_refused(where):
    vectors = {"images": np.eye(5), "captions": np.eye(5)}
    vectors[where][3, 3] = np.nan
    with pytest.raises(PolyglanceError, match="NaN"):
        rank_both(vectors["images"], vectors["captions"], np.arange(5), chunk=(2, 2))


def test_wrong_index_is_refused():
    eye = np.eye(3)
    with pytest.raises(ValueError, match="image 1 has no caption"):
        rank_both(eye, eye, np.array([0, 2, 2]))
    with pytest.raises(ValueError, match="must be in"):
        rank_both(eye, eye, np.array([0, 1, 3]))
    with pytest.raises(ValueError, match="shape"):
        rank_both(eye, eye, np.arange(2))
    with pytest.raises(ValueError, match="nothing to rank"):
        rank_both(np.empty((0, 3)), np.empty((0, 3)), np.empty(0))


def test_progress_reaches_the_number_of_captions():
    seen = []
    rank_both(np.eye(5), np.eye(5), np.arange(5), chunk=(2, 2), progress=seen.append)
    assert seen == [2, 2, 1]


def peak(count):
    generator = np.random.default_rng(0)
    images = generator.standard_normal((count, 8), np.float32)
    captions = generator.standard_normal((5 * count, 8), np.float32)
    tracemalloc.start()
    rank_both(images, captions, np.arange(count).repeat(5), chunk=(32, 128))
    bytes_ = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return bytes_


def test_memory_grows_with_the_sum_not_the_product():
    small, large = peak(250), peak(2000)
    assert large < 9 * small  # eight times the sum; the product is 64 times
    assert large < 2000 * 10000 * 4 / 10
