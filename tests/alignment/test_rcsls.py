import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.alignment import AlignmentOptions, procrustes, rcsls, rcsls_objective
from polyglance.alignment.rcsls import SMALLEST_RATE, clip_spectrum
from polyglance.text.vectors.word_vectors import normalise_rows
from tests.alignment.planted import languages


def problem(seed=0, pairs=12, pool=40, dim=6):
    """Pairs and pools in float64, and a matrix."""
    generator = np.random.default_rng(seed)
    pools = [normalise_rows(generator.normal(size=(pool, dim))) for _ in range(2)]
    matrix = np.eye(dim) + 0.3 * generator.normal(size=(dim, dim))
    return matrix, (pools[0][:pairs], pools[1][:pairs], *pools)


def written_out(matrix, source, target, source_pool, target_pool, k):
    """Spec §6.1, word by word."""
    total = 0.0
    for x, y in zip(source, target, strict=True):
        near_target = sorted((matrix @ x @ z for z in target_pool), reverse=True)[:k]
        near_source = sorted((y @ (matrix @ z) for z in source_pool), reverse=True)[:k]
        total += -2 * x @ matrix.T @ y + np.mean(near_target) + np.mean(near_source)
    return total / len(source)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 50))
def test_objective_is_the_definition(seed, k):
    matrix, data = problem(seed)
    assert rcsls_objective(matrix, *data, k)[0] == pytest.approx(written_out(matrix, *data, k))


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_that_of_finite_differences(seed):
    matrix, data = problem(seed)
    step = 1e-7  # small enough that no neighbour changes
    _, gradient = rcsls_objective(matrix, *data, 5)
    measured = np.empty_like(matrix)
    for place in np.ndindex(matrix.shape):
        change = np.zeros_like(matrix)
        change[place] = step
        up, down = (rcsls_objective(matrix + d, *data, 5)[0] for d in (change, -change))
        measured[place] = (up - down) / (2 * step)
    np.testing.assert_allclose(gradient, measured, atol=1e-6)


def test_objective_is_homogeneous():
    matrix, data = problem()
    value, gradient = rcsls_objective(matrix, *data)
    assert rcsls_objective(3 * matrix, *data)[0] == pytest.approx(3 * value)
    assert np.sum(gradient * matrix) == pytest.approx(value)  # Euler


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.01, 1.0, 25.0, 1e4]), st.booleans())
def test_never_worse_than_its_start(seed, rate, spectral):
    matrix, data = problem(seed)
    start = clip_spectrum(matrix)
    best, steps = rcsls(*data, start, AlignmentOptions(iterations=6, rate=rate, spectral=spectral))
    value = rcsls_objective(best, *data)[0]
    assert value <= rcsls_objective(start, *data)[0] + 1e-12
    assert value == pytest.approx(min(step.objective for step in steps if step.kept))
    if spectral:
        assert np.linalg.svd(best)[1].max() <= 1 + 1e-9


def test_goes_back_to_the_best_and_halves_the_rate():
    # Pairs that have nothing in common: the smallest objective is 0, and large steps miss it.
    best, data = problem(5, pairs=40, pool=60)
    rate = 400.0
    found, steps = rcsls(*data, best, AlignmentOptions(iterations=12, rate=rate))
    value, gradient = rcsls_objective(best, *data)
    for step in steps[1:]:
        tried = best - rate * gradient
        new, new_gradient = rcsls_objective(tried, *data)
        assert (step.rate, step.kept) == (rate, new < value)
        assert step.objective == pytest.approx(new)
        if step.kept:
            best, value, gradient = tried, new, new_gradient
        else:
            rate /= 2
    np.testing.assert_allclose(found, best)
    assert {step.kept for step in steps} == {True, False}


def test_ends_when_the_rate_is_too_small():
    source = np.eye(2)
    # With one neighbour, the pair itself, every objective is 0: nothing can be gained.
    options = AlignmentOptions(k=1, iterations=99, rate=1.0)
    best, steps = rcsls(source, source, source, source, np.eye(2), options)
    np.testing.assert_array_equal(best, np.eye(2))
    assert steps[-1].rate / 2 < SMALLEST_RATE <= steps[-1].rate
    assert len(steps) < 20


def test_float32_stays_float32_and_gains_on_noisy_languages():
    source, target, _ = languages(noise=0.15)
    pool = normalise_rows(target.matrix)
    data = (source.matrix[:200], pool[:200], source.matrix, pool)
    start = procrustes(*data[:2])
    best, steps = rcsls(*data, start, AlignmentOptions(rate=1.0))
    assert best.dtype == np.float32
    assert steps[-1].objective < steps[0].objective
