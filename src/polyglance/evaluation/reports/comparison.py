"""Comparison of runs: paired tests against the first, or mean ± sd over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.evaluation.ranking.bootstrap import (
    HEADLINE,
    Difference,
    bootstrap,
    headline,
    paired,
)
from polyglance.evaluation.reports.report import LanguageResult, Report, average_members


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences of each later run from the first: model → language or average → metric.

    `values` has every run's metrics in the same form.
    """

    baseline: str
    values: dict[str, dict[str, dict[str, float]]]
    differences: dict[str, dict[str, dict[str, Difference]]]
    rounds: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        tests = {
            model: {
                row: {metric: value.as_dict() for metric, value in metrics.items()}
                for row, metrics in rows.items()
            }
            for model, rows in self.differences.items()
        }
        return {
            "baseline": self.baseline,
            "rounds": self.rounds,
            "seed": self.seed,
            "values": self.values,
            "differences": tests,
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and sample standard deviation over runs."""

    mean: float
    sd: float


def compare(reports: Sequence[Report], rounds: int = 1000, seed: int = 0) -> Comparison:
    """Paired bootstrap of every later report against the first, on the same queries.

    Compares the languages that all reports have, and their averages.

    Args:
        reports: at least two, with ranks, of models with different names.
        rounds: number of resamples.
        seed: of the resampling.
    """
    if len({report.model for report in reports}) < max(2, len(reports)):
        raise PolyglanceError("a comparison needs at least two runs with different names")
    results = shared_results(reports)
    for report, own in zip(reports[1:], results[1:], strict=True):
        _check_same_queries(reports[0], results[0], report, own)
    flat = [result.outcome for own in results for result in own]
    drawn = bootstrap(flat, len(reports[0].images), rounds, seed)
    samples = drawn.reshape(len(reports), len(results[0]), rounds, len(HEADLINE))
    observed = np.stack([[headline(r.metrics) for r in own] for own in results])
    rows = {result.language: [i] for i, result in enumerate(results[0])}
    rows |= average_members(results[0])
    values: dict[str, dict[str, dict[str, float]]] = {report.model: {} for report in reports}
    tests: dict[str, dict[str, dict[str, Difference]]] = {r.model: {} for r in reports[1:]}
    for row, members in rows.items():
        drawn, means = samples[:, members].mean(axis=1), observed[:, members].mean(axis=1)
        for n, report in enumerate(reports):
            values[report.model][row] = dict(zip(HEADLINE, means[n].tolist(), strict=True))
            if n:
                tests[report.model][row] = _differences(drawn, means, n)
    return Comparison(reports[0].model, values, tests, rounds, seed)


def shared_results(reports: Sequence[Report]) -> list[list[LanguageResult]]:
    """Each report's results in the languages that all have, in the first one's order."""
    shared = [
        result.language
        for result in reports[0].results
        if all(result.language in {r.language for r in report.results} for report in reports)
    ]
    if not shared:
        raise PolyglanceError("the runs have no language in common")
    return [[report[language] for language in shared] for report in reports]


def aggregate(reports: Sequence[Report]) -> dict[str, dict[str, Spread]]:
    """Mean ± sd over runs: language or average → metric (`HEADLINE`) → spread.

    For several seeds of one recipe; needs at least two reports.
    """
    if len(reports) < 2:
        raise PolyglanceError("mean ± sd over seeds needs at least two runs")
    results = shared_results(reports)
    values = np.stack([[headline(r.metrics) for r in own] for own in results])  # [run, row, 8]
    rows = {result.language: [i] for i, result in enumerate(results[0])}
    spreads = {}
    for row, members in (rows | average_members(results[0])).items():
        runs = values[:, members].mean(axis=1)
        means, deviations = runs.mean(axis=0), runs.std(axis=0, ddof=1)
        spreads[row] = {
            metric: Spread(float(means[i]), float(deviations[i]))
            for i, metric in enumerate(HEADLINE)
        }
    return spreads


def _differences(samples: np.ndarray, observed: np.ndarray, n: int) -> dict[str, Difference]:
    """Tests of run `n` against run 0; samples [run, round, 8], observed [run, 8]."""
    return {
        metric: paired(samples[0, :, i], samples[n, :, i], observed[n, i] - observed[0, i])
        for i, metric in enumerate(HEADLINE)
    }


def _check_same_queries(
    first: Report, mine: list[LanguageResult], second: Report, theirs: list[LanguageResult]
) -> None:
    same = first.images == second.images and first.folds == second.folds
    for a, b in zip(mine, theirs, strict=True):
        same = same and a.kinds == b.kinds
        same = same and np.array_equal(a.outcome.image, b.outcome.image)
        same = same and np.array_equal(a.outcome.caption_image, b.outcome.caption_image)
    if not same:
        raise PolyglanceError(
            f"{first.model} and {second.model} were not evaluated on the same images and "
            "captions; evaluate both on the same data, split, kinds and folds"
        )
