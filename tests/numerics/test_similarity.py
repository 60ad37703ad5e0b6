import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.evaluation.ranking.ranks import rank_both
from polyglance.numerics.similarity import cosine, dot, normalise, order, scores


def test_order_by_hand():
    images = np.array([[1.0, 2.0], [0.0, 0.0]], np.float32)
    captions = np.array([[1.0, 1.0], [4.0, 6.0]], np.float32)
    expected = [[0.0, -5.0], [-(2**0.5), -(52**0.5)]]
    assert order(images, captions) == pytest.approx(np.array(expected))


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 9), st.integers(1, 200), st.integers(1, 5), st.integers(0, 99))
def test_order_equals_the_whole_array(n, m, dimension, seed):
    generator = np.random.default_rng(seed)
    images = generator.standard_normal((n, dimension)).astype(np.float32)
    captions = generator.standard_normal((m, dimension)).astype(np.float32)
    excess = np.maximum(captions[None] - images[:, None], 0)
    assert order(images, captions) == pytest.approx(-np.linalg.norm(excess, axis=2), abs=1e-5)


def test_order_is_asymmetric_in_ranks():
    """A caption below every image violates nothing; one above its image does."""
    images = np.array([[1.0, 1.0], [2.0, 2.0]], np.float32)
    captions = np.array([[1.5, 1.5], [2.0, 2.0]], np.float32)
    ranks = rank_both(images, captions, np.array([0, 1]), score=order)
    assert ranks.text_to_image.tolist() == [1, 0]
    assert ranks.image_to_text.tolist() == [0, 1]


def test_cosine_is_dot_of_normalised():
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((3, 4)), generator.standard_normal((5, 4))
    assert np.array_equal(cosine(a, b), dot(normalise(a), normalise(b)))
    assert np.linalg.norm(normalise(a), axis=1) == pytest.approx(np.ones(3))


def test_unknown_similarity_names_the_nearest():
    with pytest.raises(PolyglanceError, match="did you mean 'cosine'"):
        scores.get("cosin")
