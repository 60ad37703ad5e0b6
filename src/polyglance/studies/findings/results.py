"""The values of a study: cells from stored ranks or measures, differences, chance level."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np

from polyglance.evaluation import Outcome, load_report
from polyglance.evaluation.ranking.bootstrap import HEADLINE, Difference, bootstrap
from polyglance.evaluation.ranking.metrics import chance, fold_members
from polyglance.evaluation.reports.report import LanguageResult
from polyglance.studies.experiments import Measured
from polyglance.studies.findings.sizes import Sizes
from polyglance.studies.findings.statistics import ROUNDS, SEED, Series, average, difference, minus
from polyglance.studies.format.measured import measure_of
from polyglance.studies.format.needs import Need, needs_of
from polyglance.studies.format.schema import Column
from polyglance.studies.plan import DataFacts, Line, Plan, Run
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import is_whole, read_result

SIDES = {"i2t": "image_to_text", "t2i": "text_to_image"}


@dataclass(frozen=True)
class Cell:
    """A line's value in a column, with the paper's and the chance level."""

    column: Column
    seeds: tuple[int, ...] = ()
    series: Series | None = None
    paper: float | None = None
    chance: float | None = None

    @property
    def tested(self) -> bool:
        return self.series is not None and self.series.tested


@dataclass(frozen=True)
class Test:
    """A line against its reference in a column, or in the mean of all (`column` None)."""

    line: Line
    reference: Line
    column: Column | None
    difference: Difference
    paper: float | None = None


@dataclass(frozen=True)
class Results:
    """All cells by line and column, and tests against the reference rows."""

    plan: Plan
    cells: list[list[Cell]]
    tests: list[Test]
    changed: dict[str, dict[str, float]] = field(default_factory=dict)
    """perturbation → language → percentage of words that it changed"""

    def line(self, row: str, x: object) -> Line | None:
        """The line of a row at an x; one that does not depend on x is used for every x."""
        lines = [line for line in self.plan.lines if line.row.name == row]
        return next((line for line in lines if line.x in (x, None)), None)

    def cell(self, line: Line, column: Column) -> Cell:
        return self.cells[self.plan.lines.index(line)][self.plan.columns.index(column)]

    @property
    def has_paper(self) -> bool:
        return any(cell.paper is not None for cells in self.cells for cell in cells)

    @property
    def has_chance(self) -> bool:
        return any(cell.chance is not None for cells in self.cells for cell in cells)


def collect(plan: Plan, facts: DataFacts | None, options: Options) -> Results:
    """Read what has been evaluated or measured so far, and test lines against their references.

    Args:
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: with the location of the runs.
    """
    results = _measured(plan, options) if facts is None else _evaluated(plan, facts, options)
    for line in plan.lines:
        results.tests.extend(_tests(results, line))
    return results


def read_measures(options: Options, run: Run) -> Measured | None:
    """The measures of a trial; None before its end."""
    folder = options.folder(run)
    return read_result(folder.measures, Measured) if folder.done else None


def _measured(plan: Plan, options: Options) -> Results:
    found = {key: read_measures(options, run) for key, run in plan.runs.items()}
    values = {key: {} if one is None else one.values for key, one in found.items()}

    def cell(line: Line, column: Column) -> Cell:
        name = measure_of(column, line.row)
        known = {
            seed: values[source[name]][name]
            for seed, source in enumerate(line.sources)
            if name in source and name in values[source[name]]
        }
        series = Series.of_seeds(list(known.values())) if known else None
        return Cell(column, tuple(known), series, figure(plan, line, column))

    return Results(plan, [[cell(line, c) for c in plan.columns] for line in plan.lines], [])


def _evaluated(plan: Plan, facts: DataFacts, options: Options) -> Results:
    stored = _stored(plan, options)
    outcomes = {key: result.outcome for key, result in stored.items()}
    images = len(facts.dataset.split(plan.study.evaluation.split))
    found = list(outcomes.values())
    drawn = bootstrap(found, images, ROUNDS, SEED) if found else np.empty(0)
    samples = dict(zip(outcomes, drawn, strict=True))
    sizes = Sizes(options)

    def cell(line: Line, column: Column) -> Cell:
        if not column.counted:
            return _cell(plan, line, column, facts, outcomes, samples)
        known = sizes.line(plan, line, column)
        series = Series.untested(list(known.values())) if known else None
        return Cell(column, tuple(known), series, figure(plan, line, column))

    cells = [[cell(line, column) for column in plan.columns] for line in plan.lines]
    return Results(plan, cells, [], _changed(stored.values()))


def _changed(results: Iterable[LanguageResult]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for result in results:
        if (p := result.perturbed) is not None:
            found.setdefault(p.name, {})[result.language] = 100 * p.changed / max(1, p.words)
    return found


def _stored(plan: Plan, options: Options) -> dict[tuple[str, Need], LanguageResult]:
    """Stored results by run and need."""
    found = {}
    for run in plan.runs.values():
        folder = options.folder(run)
        for need in run.needs if folder.done else ():
            path = folder.result(plan.study.evaluation.split, need)
            if is_whole(path, load_report):
                found[run.key, need] = load_report(path).results[0]
    return found


def _cell(
    plan: Plan,
    line: Line,
    column: Column,
    facts: DataFacts,
    outcomes: dict[tuple[str, Need], Outcome],
    samples: dict[tuple[str, Need], np.ndarray],
) -> Cell:
    members = plan.members(column, line.row, facts)
    more = facts.lexicon, facts.digests
    needs = [needs_of(plan.study, line.row, column, code, *more) for code in members]
    parts: dict[int, Series] = {}
    chances: list[float] = []
    for seed, source in enumerate(line.sources):
        owners = [source.get(code, "") for code in members]
        keys = [[(run, need) for need in own] for run, own in zip(owners, needs, strict=True)]
        if not keys or any(key not in outcomes for own in keys for key in own):
            continue
        series = [[_series(outcomes[k], samples[k], column) for k in own] for own in keys]
        parts[seed] = average([own[0] if len(own) == 1 else minus(*own) for own in series])
        if not column.change:
            firsts = [outcomes[own[0]] for own in keys]
            expected = [chance_level(one.caption_image, column, one.folds) for one in firsts]
            chances = [value for value in expected if value is not None]
    paper = figure(plan, line, column)
    if not parts:
        return Cell(column, paper=paper)
    joint = Series(
        np.concatenate([part.values for part in parts.values()]),
        np.concatenate([part.samples for part in parts.values()]),
    )
    level = float(np.mean(chances)) if chances else None
    return Cell(column, tuple(parts), joint, paper, level)


def _series(outcome: Outcome, samples: np.ndarray, column: Column) -> Series:
    """One run's value [1] and its resamples [1, R]; empty for a median rank."""
    metrics = outcome.metrics()
    side: Any = metrics if column.direction is None else getattr(metrics, SIDES[column.direction])
    if column.metric == "medr":
        return Series.untested([side.median_rank])
    prefix = "" if column.direction is None else f"{SIDES[column.direction]}."
    drawn = samples[None, :, HEADLINE.index(prefix + column.metric)]
    return Series(np.array([getattr(side, column.metric)]), drawn)


def figure(plan: Plan, line: Line, column: Column) -> float | None:
    """The paper's value in a cell; None if it has none.

    Args:
        plan: of the study, for the order of its columns.
        line: the row and its x.
        column: a column of the study.
    """
    paper = line.row.paper
    if isinstance(paper, list):
        return paper[[c.title for c in plan.study.columns].index(column.title)]
    value = paper.get(column.title)
    return value.get(str(line.x)) if isinstance(value, dict) else value


def chance_level(caption_image: np.ndarray, column: Column, folds: int = 1) -> float | None:
    """The expected value of a random ranking; None for median ranks.

    Args:
        caption_image: [M], the image of each caption.
        column: a recall, mR or rsum.
        folds: number of contiguous folds of the images to average over.
    """
    if column.metric == "medr":
        return None
    parts = fold_members(caption_image, int(caption_image.max()) + 1, folds)
    levels = [_fold_chance(caption_image[rows] - fold.start, column) for fold, rows in parts]
    return float(np.mean(levels))


def _fold_chance(caption_image: np.ndarray, column: Column) -> float:
    if column.direction is None:
        return chance(caption_image) * (6 if column.metric == "rsum" else 1)
    counts, k = np.bincount(caption_image), int(column.metric[1:])
    if column.direction == "t2i":
        return 100 * min(1.0, k / len(counts))
    total = int(counts.sum())
    draws = min(k, total)
    missed = [comb(total - int(n), draws) / comb(total, draws) for n in counts]
    return 100 * (1 - float(np.mean(missed)))


def _tests(results: Results, line: Line) -> list[Test]:
    name = results.plan.study.reference(line.row)
    reference = None if name is None else results.line(name, line.x)
    if reference is None:
        return []
    tests: list[Test] = []
    pairs = []
    joined = joint_columns(results.plan.columns)
    for column in results.plan.columns:
        own, other = results.cell(line, column), results.cell(reference, column)
        if own.series is None or other.series is None or not (own.tested and other.tested):
            continue
        if column in joined:
            pairs.append((own, other))
        change = difference(other.series, own.series)
        tests.append(Test(line, reference, column, change, mean_gap([(own, other)])))
    if len(pairs) > 1 and (joint := compare_cells(pairs)) is not None:
        tests.append(Test(line, reference, None, joint, mean_gap(pairs)))
    return tests


def mean_gap(pairs: list[tuple[Cell, Cell]]) -> float | None:
    """The mean of the paper's differences, if it has all values."""
    papers = [(own.paper, other.paper) for own, other in pairs]
    gaps = [a - b for a, b in papers if a is not None and b is not None]
    return float(np.mean(gaps)) if gaps and len(gaps) == len(pairs) else None


def column_tables(columns: list[Column]) -> dict[str, list[Column]]:
    """Columns by the table that they are shown in."""
    tables: dict[str, list[Column]] = {}
    for column in columns:
        tables.setdefault(column.table, []).append(column)
    return tables


def joint_columns(columns: list[Column]) -> list[Column]:
    """Columns whose mean is meaningful: languages rather than averages, recalls rather than rsum,
    plain queries rather than perturbed ones.

    For measures, those with the first unit.
    """
    if columns and columns[0].measure is not None:
        return [column for column in columns if column.unit == columns[0].unit]
    found = [c for c in columns if c.metric != "medr" and not c.counted]
    for better in (
        lambda c: not c.change,
        lambda c: c.perturb is None,
        lambda c: c.language is not None,
        lambda c: c.metric != "rsum",
    ):
        found = [column for column in found if better(column)] or found
    return found


def compare_cells(pairs: list[tuple[Cell, Cell]]) -> Difference | None:
    """The mean difference (first minus second of each pair) over cells, on their common seeds."""
    sides = []
    for cells in zip(*pairs, strict=True):
        common = set.intersection(*(set(cell.seeds) for cell in cells))
        if not common:
            return None
        sides.append(average([_only(cell, common) for cell in cells]))
    return difference(sides[1], sides[0]) if all(side.tested for side in sides) else None


def _only(cell: Cell, seeds: set[int]) -> Series:
    keep = [i for i, seed in enumerate(cell.seeds) if seed in seeds]
    if cell.series is None:
        return Series.untested([])
    return Series(cell.series.values[keep], cell.series.samples[keep], cell.series.queries)
