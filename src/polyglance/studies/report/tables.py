"""The report's tables as text, for both Markdown and HTML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from polyglance.evaluation.ranking.bootstrap import Difference
from polyglance.evaluation.reports.tables import STARS
from polyglance.studies.findings.results import Cell, Results, Test, column_tables, joint_columns
from polyglance.studies.format.measured import measure_of
from polyglance.studies.format.schema import Column
from polyglance.studies.plan import Line
from polyglance.studies.report.origin import Origin, with_machines

NONE = "–"
WORD_PARAMETERS = (
    "M word parameters: millions of parameters of the layers that map words to vectors: tables of "
    "words or characters, layers and norms; for a row with several trainings, their sum"
)

COSTS = {
    "epoch": "s per epoch: seconds per pass over the training data, evaluations included; "
    "for a row with several trainings, their sum. Other runs were active on the machine",
    "memory": "GiB of memory: peak memory of the training process, including features mapped from "
    "disk; for a row with several trainings, the largest",
}


TOKENS = (
    "latent tokens: number of tokens in use; % shared: share of them that words of several "
    "languages use; % of pairs: share of the lexicon's word pairs with latent tokens whose two "
    "words have the same one"
)


@dataclass(frozen=True)
class Table:
    """Text cells. `groups` are (heading, number of columns) above `header`."""

    title: str
    groups: list[tuple[str, int]]
    header: list[str]
    rows: list[list[str]]
    sections: dict[int, str] = field(default_factory=dict)
    """Heading before the row at a position."""
    notes: list[str] = field(default_factory=list)
    lower: frozenset[int] = frozenset()
    """Positions of columns in which less is better."""


def mean_sd(cell: Cell, seeds: int) -> str:
    """ "58.7 ± 0.4", with the number of seeds if some are missing."""
    if cell.series is None:
        return NONE
    digits = cell.column.digits
    text = f"{cell.series.mean:.{digits}f}"
    if cell.series.sd is not None and cell.column.parameters is None:
        text += f" ± {cell.series.sd:.{digits}f}"
    incomplete = len(cell.seeds) < seeds
    return f"{text} ({len(cell.seeds)} of {seeds})" if incomplete else text


def change(test: Difference, digits: int = 1) -> str:
    """ "+1.2** [+0.4, +2.0]" """
    stars = next((mark for limit, mark in STARS if test.p < limit), "")
    low, high = f"{test.low:+.{digits}f}", f"{test.high:+.{digits}f}"
    return f"{test.difference:+.{digits}f}{stars} [{low}, {high}]"


def result_tables(
    results: Results, failed: Mapping[str, str], origin: Origin | None = None
) -> list[Table]:
    """Paper and our values by column; the notes are below the last table.

    Args:
        results: evaluated or measured so far.
        failed: key → reason, for failed runs.
        origin: of the runs; machines are shown if there are several.
    """
    parts = column_tables(results.plan.columns)
    tables = [_result_table(results, failed, name, part) for name, part in parts.items()]
    tables[-1].notes.extend(_notes(results))
    if origin is not None and origin.letters:
        for table in tables:
            with_machines(table.rows, results.plan.lines, origin)
            table.header.append("machine")
            table.groups.extend([("", 1)] * bool(table.groups))
        tables[-1].notes.append(origin.note)
    return tables


def _notes(results: Results) -> list[str]:
    plan = results.plan
    notes = [f"{plan.seeds} seeds, mean ± standard deviation" if plan.seeds > 1 else "one seed"]
    units = {c.unit: c.better for c in plan.columns if c.unit}
    notes += [f"{unit}: {better} is better" for unit, better in units.items()]
    notes += [_share(name, shares) for name, shares in sorted(results.changed.items())]
    if any(column.parameters == "words" for column in plan.columns):
        notes.append(WORD_PARAMETERS)
    notes += [COSTS[c.cost] for c in plan.columns if c.cost is not None]
    if any(column.tokens is not None for column in plan.columns):
        notes.append(TOKENS)
    notes += [f"{part.title}: {part.note}" for part in plan.study.parts if part.note]
    return notes + [f"{line.title}: {line.row.note}" for line in plan.lines if line.row.note]


def _share(name: str, shares: Mapping[str, float]) -> str:
    """The share of words changed in each language."""
    parts = ", ".join(f"{code} {share:.0f}" for code, share in sorted(shares.items()))
    return f"{name}, % of words changed: {parts}"


def _result_table(
    results: Results, failed: Mapping[str, str], name: str, columns: list[Column]
) -> Table:
    """Columns of one table; the last row is chance level."""
    plan = results.plan
    places = [plan.columns.index(column) for column in columns]
    cells = [[row[i] for i in places] for row in results.cells]
    has_paper = [
        any(cell.paper is not None for cell in column) for column in zip(*cells, strict=True)
    ]
    groups, header = _heads([heading(column) for column in columns], has_paper)
    rows = []
    for line, own in zip(plan.lines, cells, strict=True):
        papers = [_number(cell.paper, cell.column.digits) for cell in own]
        ours = [_ours(cell, line, plan.seeds, failed) for cell in own]
        rows.append([line.title, *_beside(papers, ours, has_paper)])
    if plan.study.experiment is None:
        levels = [
            [c.chance for c in column if c.chance is not None]
            for column in zip(*cells, strict=True)
        ]
        chance = [_number(level[0] if level else None) for level in levels]
        rows.append(["chance", *_beside([""] * len(chance), chance, has_paper)])
    sections = _sections(results, [line.row.name for line in plan.lines])
    return Table(_title("Results", name), groups, header, rows, sections)


def _beside(papers: list[str], ours: list[str], has_paper: list[bool]) -> list[str]:
    """A row's cells: the paper's before ours, in the columns where it has any."""
    pairs = zip(papers, ours, has_paper, strict=True)
    return [text for paper, own, both in pairs for text in ([paper, own] if both else [own])]


def _title(word: str, name: str) -> str:
    return f"{word}: {name}" if name else word


def difference_tables(results: Results) -> list[Table]:
    """Differences from the reference rows; the mean's follows the last column included in it."""
    parts = column_tables(results.plan.columns)
    last = joint_columns(results.plan.columns)[-1].table
    tables = [_difference_table(results, name, part, name == last) for name, part in parts.items()]
    return [table for table in tables if table is not None]


def _difference_table(
    results: Results, name: str, shown: list[Column], with_mean: bool
) -> Table | None:
    """Differences in some columns, with the paper's if it has both values."""
    columns = {column.title: column for column in shown}
    if with_mean:
        columns[""] = joint_columns(results.plan.columns)[0]
    by_line: dict[int, dict[str, Test]] = {}
    for test in results.tests:
        key = test.column.title if test.column else ""
        if key in columns:
            by_line.setdefault(results.plan.lines.index(test.line), {})[key] = test
    if not by_line:
        return None
    columns = {k: c for k, c in columns.items() if any(k in tests for tests in by_line.values())}
    has_paper = [
        any(k in tests and tests[k].paper is not None for tests in by_line.values())
        for k in columns
    ]
    names = [heading(column) if key else "mean" for key, column in columns.items()]
    groups, header = _heads(names, has_paper)
    rows = []
    for _, tests in sorted(by_line.items()):
        some = next(iter(tests.values()))
        found = [(tests.get(key), column.digits) for key, column in columns.items()]
        papers = [_number(test.paper if test else None, digits, "+") for test, digits in found]
        ours = [NONE if test is None else change(test.difference, digits) for test, digits in found]
        title = f"{some.line.title} − {some.reference.title}"
        rows.append([title, *_beside(papers, ours, has_paper)])
    less = [column.better == "lower" for column in columns.values()]
    widths = [[low] * (1 + both) for low, both in zip(less, has_paper, strict=True)]
    lower = frozenset(i for i, low in enumerate(chain([False], *widths)) if low)
    sections = _sections(results, [results.plan.lines[i].row.name for i in sorted(by_line)])
    return Table(_title("Differences", name), groups, header, rows, sections, lower=lower)


def _heads(names: list[str], papers: list[bool]) -> tuple[list[tuple[str, int]], list[str]]:
    """Column headings, in one line if the paper has no values, else in two."""
    if not any(papers):
        return [], ["", *names]
    groups, header = [("", 1)], [""]
    for name, paper in zip(names, papers, strict=True):
        groups.append((name, 2 if paper else 1))
        header += ["paper", "ours"] if paper else ["ours"]
    return groups, header


def heading(column: Column) -> str:
    """A column's name with what it measures, without repetition."""
    named = column.measure or column.counted or column.shown in column.title
    return column.title if named else f"{column.title} {column.shown}"


def _number(value: float | None, digits: int = 1, sign: str = "") -> str:
    return NONE if value is None else f"{value:{sign}.{digits}f}"


def _ours(cell: Cell, line: Line, seeds: int, failed: Mapping[str, str]) -> str:
    if cell.series is not None:
        return mean_sd(cell, seeds)
    wanted = cell.column.language or measure_of(cell.column, line.row)
    keys = {k for source in line.sources for name, k in source.items() if wanted in ("", name)}
    return "failed" if keys & set(failed) else NONE


def _sections(results: Results, names: list[str]) -> dict[int, str]:
    """Titles before the first line of each section that has one."""
    found: dict[int, str] = {}
    for part in results.plan.study.parts:
        positions = [i for i, n in enumerate(names) if n in {row.name for row in part.rows}]
        if positions and part.title:
            found[positions[0]] = part.title
    return found
