import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.alignment import procrustes
from polyglance.errors import PolyglanceError
from tests.alignment.planted import rotation


@given(st.integers(1, 12), st.integers(0, 1000))
def test_recovers_a_planted_rotation(dim, seed):
    source = np.random.default_rng(seed).normal(size=(3 * dim, dim))
    turn = rotation(dim, seed)
    np.testing.assert_allclose(procrustes(source, source @ turn.T), turn, atol=1e-8)


def test_recovers_it_from_noisy_pairs():
    generator = np.random.default_rng(0)
    source = generator.normal(size=(2000, 30)).astype(np.float32)
    turn = rotation(30)
    target = (source @ turn.T + 0.5 * generator.normal(size=source.shape)).astype(np.float32)
    found = procrustes(source, target)
    assert found.dtype == np.float32
    assert np.linalg.norm(found - turn) < 0.1 * np.linalg.norm(turn)
    np.testing.assert_allclose(found @ found.T, np.eye(30), atol=1e-5)


def test_is_the_best_orthogonal_matrix():
    generator = np.random.default_rng(3)
    source, target = generator.normal(size=(2, 40, 5))
    best = np.linalg.norm(source @ procrustes(source, target).T - target)
    others = [np.linalg.norm(source @ rotation(5, seed).T - target) for seed in range(50)]
    assert best < min(others)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [(((0, 3), (0, 3)), "no word pairs"), (((2, 3), (2, 4)), "same dimension")],
)
def test_mistakes(shapes, message):
    with pytest.raises(PolyglanceError, match=message):
        procrustes(*map(np.zeros, shapes))
