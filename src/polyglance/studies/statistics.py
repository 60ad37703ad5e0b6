"""Differences between rows, judged over seeds and queries together.

Two things vary: which photographs are asked about, and the seed. Photographs are resampled, the
same ones for both rows (a bootstrap; captions go with their photograph). Seeds are too few to
resample: with three, up to a fifth of null differences come out significant. Their part is drawn
from Student's t with Welch's degrees of freedom. What photographs and seeds share (a seed that
finds other photographs) is in both parts, and is taken out of the first.
"""

from dataclasses import dataclass

import numpy as np

from polyglance.evaluation.bootstrap import Difference, paired

ROUNDS = 2000
SEED = 0

METHOD = (
    f"Intervals (95 %) and p-values are over seeds and queries together: photographs are "
    f"resampled {ROUNDS:,} times with all their captions, the same ones for both rows; to each "
    "resampled difference of means over seeds is added an error of the seeds, drawn from "
    "Student's t with Welch's degrees of freedom; the variance that both have in common is "
    "counted once. * p < .05, ** p < .01, *** p < .001, each test on its own. With a single seed "
    "the interval speaks of the queries only."
)


@dataclass(frozen=True)
class Series:
    """A number by seed: observed `values` [S], and `samples` [S, R] over resampled photographs."""

    values: np.ndarray
    samples: np.ndarray

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
        """The part of the resampled mean's variance that differs from seed to seed."""
        if len(self.values) < 2:
            return 0.0
        own = self.samples - self.samples.mean(axis=0)
        return float(own.var(axis=1).mean() / (len(self.values) - 1))


def average(parts: list[Series]) -> Series:
    """The mean of several numbers, seed by seed and resample by resample."""
    values = np.mean([part.values for part in parts], axis=0)
    return Series(values, np.mean([part.samples for part in parts], axis=0))


def difference(first: Series, second: Series, seed: int = SEED) -> Difference:
    """Second minus first: observed, 95 % interval and p over seeds and photographs.

    >>> flat = Series(np.array([5.0, 5.0]), np.full((2, 99), 5.0))
    >>> difference(flat, flat).p
    1.0
    """
    observed = second.mean - first.mean
    drawn = second.samples.mean(axis=0) - first.samples.mean(axis=0)
    spread = float(drawn.var())
    queries = max(0.0, spread - first.shared - second.shared)
    scale = np.sqrt(queries / spread) if spread else 0.0
    drawn = (
        observed + scale * (drawn - drawn.mean()) + _seed_errors(first, second, len(drawn), seed)
    )
    return paired(np.zeros(len(drawn)), drawn, observed)


def _seed_errors(first: Series, second: Series, rounds: int, seed: int) -> np.ndarray:
    total = first.error + second.error
    if not total:
        return np.zeros(rounds)
    freedom = total**2 / sum(
        part.error**2 / (len(part.values) - 1) for part in (first, second) if part.error
    )
    generator = np.random.default_rng([seed, 1])
    return np.sqrt(total) * generator.standard_t(freedom, rounds)
