"""Differences between rows, tested over seeds and queries together.

There are two sources of variation: the images, and the seed. Images are resampled, the same ones
for both rows (a bootstrap; captions go with their image). There are too few seeds to resample:
with three, up to a fifth of null differences come out significant. Their contribution is drawn
from Student's t with Welch's degrees of freedom. Variance that images and seeds share (a seed
that finds other images) is in both parts, and is subtracted from the first. A measured study has
no queries: only its seeds vary, and Welch's test is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyglance.evaluation.ranking.bootstrap import Difference, paired

ROUNDS = 2000
SEED = 0

METHOD = (
    "Intervals (95 %) and p-values cover seeds and queries: images are resampled with all their "
    f"captions, {ROUNDS:,} times, the same ones for both rows; each resampled difference of the "
    "seeds' means gets an error for the seeds, drawn from Student's t distribution with Welch's "
    "degrees of freedom; variance that seeds and queries share is counted once. * p < .05, "
    "** p < .01, *** p < .001, without correction for multiple tests. With a single seed, the "
    "interval covers the queries only."
)

WELCH = (
    "Intervals (95 %) and p-values cover seeds: Welch's t-test on the seeds' values, or on their "
    "means over columns. * p < .05, ** p < .01, *** p < .001, without correction for multiple "
    "tests. A row with a single seed is not tested."
)


@dataclass(frozen=True)
class Series:
    """Values by seed: observed `values` [S], and `samples` [S, R] over resampled images.

    Without `queries` there is nothing to resample, and only seeds vary.
    """

    values: np.ndarray
    samples: np.ndarray
    queries: bool = True

    @classmethod
    def untested(cls, values: Sequence[float]) -> "Series":
        """Values that are shown but not compared, as they do not vary randomly."""
        return cls(np.array(values), np.empty((len(values), 0)))

    @classmethod
    def of_seeds(cls, values: Sequence[float]) -> "Series":
        """Measured values, one per seed."""
        return cls(np.array(values, dtype=float), np.empty((len(values), 0)), queries=False)

    @property
    def tested(self) -> bool:
        """Whether there is any variation; median ranks have no resamples."""
        return self.samples.size > 0 if self.queries else len(self.values) > 1

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def sd(self) -> float | None:
        """Sample standard deviation over seeds; None for a single one."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else None

    @property
    def error(self) -> float:
        """Squared standard error of the mean over seeds."""
        return 0.0 if self.sd is None else self.sd**2 / len(self.values)

    @property
    def shared(self) -> float:
        """The part of the resampled mean's variance that differs between seeds."""
        if len(self.values) < 2:
            return 0.0
        own = self.samples - self.samples.mean(axis=0)
        return float(own.var(axis=1).mean() / (len(self.values) - 1))


def average(parts: list[Series]) -> Series:
    """The mean of several values, by seed and resample."""
    values = np.mean([part.values for part in parts], axis=0)
    samples = np.mean([part.samples for part in parts], axis=0)
    return Series(values, samples, all(part.queries for part in parts))


def minus(first: Series, second: Series) -> Series:
    """First minus second, of the same model on the same images."""
    return Series(first.values - second.values, first.samples - second.samples)


def difference(first: Series, second: Series, seed: int = SEED) -> Difference:
    """Second minus first: observed, 95 % interval and p over seeds and images.

    Args:
        first: values [S] and resamples [S, R] of a row.
        second: those of another, over the same resamples.
        seed: of the random numbers for the seeds' part.

    >>> flat = Series(np.array([5.0, 5.0]), np.full((2, 99), 5.0))
    >>> difference(flat, flat).p
    1.0
    """
    if not (first.queries and second.queries):
        return welch(first, second)
    observed = second.mean - first.mean
    drawn = second.samples.mean(axis=0) - first.samples.mean(axis=0)
    spread = float(drawn.var())
    queries = max(0.0, spread - first.shared - second.shared)
    scale = np.sqrt(queries / spread) if spread else 0.0
    errors = _seed_errors(first, second, len(drawn), seed)
    drawn = observed + scale * (drawn - drawn.mean()) + errors
    return paired(np.zeros(len(drawn)), drawn, observed)


def welch(first: Series, second: Series) -> Difference:
    """Second minus first by Welch's t-test on the seeds' values, at least two each.

    >>> test = welch(Series.of_seeds([1, 2, 3]), Series.of_seeds([6, 7, 8]))
    >>> round(test.low, 2), round(test.high, 2), round(test.p, 4)
    (2.73, 7.27, 0.0036)
    """
    observed = second.mean - first.mean
    if not first.error + second.error:
        return Difference(observed, observed, observed, 1.0 if observed == 0 else 0.0)
    from scipy.stats import ttest_ind

    test = ttest_ind(second.values, first.values, equal_var=False)
    low, high = test.confidence_interval(0.95)
    return Difference(observed, float(low), float(high), float(test.pvalue))


def _freedom(first: Series, second: Series) -> float:
    """Welch's degrees of freedom."""
    parts = (first, second)
    below = sum(part.error**2 / (len(part.values) - 1) for part in parts if part.error)
    return float((first.error + second.error) ** 2 / below)


def _seed_errors(first: Series, second: Series, rounds: int, seed: int) -> np.ndarray:
    total = first.error + second.error
    if not total:
        return np.zeros(rounds)
    generator = np.random.default_rng([seed, 1])
    return np.sqrt(total) * generator.standard_t(_freedom(first, second), rounds)
