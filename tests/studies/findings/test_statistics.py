"""Differences over seeds and photographs, against cases with a known answer."""

import numpy as np
import pytest

from polyglance.studies.findings.statistics import Series, average, difference, welch

PHOTOS = 120


def make(
    generator: np.random.Generator, weights: np.ndarray, parts: tuple[float, float, float]
) -> Series:
    """A row of three seeds: deviations of photographs, of seeds, and of both together."""
    photo, seed, both = parts
    hits = generator.normal(0, photo, PHOTOS) + generator.normal(0, seed, (3, 1))
    hits = hits + generator.normal(0, both, (3, PHOTOS))
    return Series(hits.mean(axis=1), hits @ weights.T)


def resamples(generator: np.random.Generator, rounds: int) -> np.ndarray:
    return generator.multinomial(PHOTOS, [1 / PHOTOS] * PHOTOS, size=rounds) / PHOTOS


@pytest.mark.parametrize(
    "parts", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.1, 1)]
)
def test_equal_rows_are_seldom_called_different(parts: tuple[float, float, float]) -> None:
    generator = np.random.default_rng(0)
    weights = resamples(generator, 300)
    tests = [
        difference(make(generator, weights, parts), make(generator, weights, parts), trial)
        for trial in range(250)
    ]
    assert sum(test.p < 0.05 for test in tests) < 0.085 * len(tests)
    covered = sum(test.low <= 0 <= test.high for test in tests) / len(tests)
    assert covered > 0.915


def test_seeds_alone_give_welch_interval() -> None:
    values = np.array([1.0, 2.0, 3.0])
    flat = [Series(v, np.repeat(v[:, None], 20_000, axis=1)) for v in (values, values + 5)]
    test = difference(*flat)
    # Standard error √(1/3 + 1/3), 4 degrees of freedom: t = 2.776.
    assert test.difference == pytest.approx(5)
    assert test.high - 5 == pytest.approx(2.776 * np.sqrt(2 / 3), rel=0.06)
    assert test.p < 0.01


def test_photographs_alone_give_the_bootstrap_interval() -> None:
    generator = np.random.default_rng(1)
    hits = generator.normal(1.0, 2.0, PHOTOS)
    samples = resamples(generator, 4000) @ hits
    one = Series(np.full(3, hits.mean()), np.tile(samples, (3, 1)))
    zero = Series(np.zeros(3), np.zeros((3, 4000)))
    test = difference(zero, one)
    assert (test.high - test.low) / 2 == pytest.approx(
        1.96 * hits.std() / np.sqrt(PHOTOS), rel=0.06
    )


def test_variance_shared_by_seeds_and_images_is_counted_once() -> None:
    generator = np.random.default_rng(2)
    weights = resamples(generator, 2000)
    rows = [make(generator, weights, (0.0, 0.0, 1.0)) for _ in range(40)]
    widths = []
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        test = difference(first, second)
        error = np.sqrt(first.error + second.error)
        widths.append((test.high - test.low) / 2 / error)
    # Seeds alone would give t of about 3; counting photographs again would add half as much.
    assert np.median(widths) < 3.7


def test_one_seed_speaks_of_queries_only() -> None:
    samples = np.linspace(0, 2, 1001)[None]
    test = difference(Series(np.zeros(1), samples * 0), Series(np.ones(1), samples))
    assert (test.low, test.high) == pytest.approx((0.05, 1.95))


def test_an_average_goes_seed_by_seed() -> None:
    parts = [
        Series(np.array([1.0, 3.0]), np.zeros((2, 4))),
        Series(np.array([3.0, 3.0]), np.ones((2, 4))),
    ]
    mean = average(parts)
    assert mean.values.tolist() == [2.0, 3.0]
    assert np.all(mean.samples == 0.5)


def test_measured_numbers_get_welch_interval_by_hand() -> None:
    first, second = Series.of_seeds([10.0, 12.0, 14.0]), Series.of_seeds([20.0, 21.0, 22.0, 25.0])
    test = difference(first, second)
    # Variances 4 and 14/3: error √(4/3 + 7/6) = 1.5811, ν = 2.5² / (16/18 + (7/6)²/3) = 4.6551;
    # t = 10 / 1.5811 = 6.3246; the 97.5 % point of t with ν degrees is 2.6289.
    assert test.difference == 10
    assert test.low == pytest.approx(10 - 2.6289 * 1.5811, abs=2e-3)
    assert test.high == pytest.approx(10 + 2.6289 * 1.5811, abs=2e-3)
    assert test.p == pytest.approx(0.001887, abs=1e-5)


@pytest.mark.parametrize(
    ("seeds", "point"), [(2, 4.3027), (3, 2.7764), (6, 2.2281), (16, 2.0423), (61, 1.9799)]
)
def test_the_points_of_students_t_are_those_of_the_tables(seeds: int, point: float) -> None:
    values = np.arange(seeds, dtype=float)
    one = Series.of_seeds(values.tolist())
    test = welch(one, one)
    assert test.high == pytest.approx(point * np.sqrt(2 * one.error), rel=1e-4)
    assert test.p == 1.0


def test_rows_that_never_vary_differ_for_certain_or_not_at_all() -> None:
    zero, one = Series.of_seeds([0.0, 0.0]), Series.of_seeds([1.0, 1.0])
    assert (welch(zero, one).low, welch(zero, one).p) == (1.0, 0.0)
    assert welch(zero, zero).p == 1.0
    assert not Series.of_seeds([1.0]).tested
