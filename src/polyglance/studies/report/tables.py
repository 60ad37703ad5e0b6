"""The report's tables as text, for Markdown and HTML alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from polyglance.evaluation.bootstrap import Difference
from polyglance.evaluation.tables import STARS
from polyglance.studies.measured import measure_of
from polyglance.studies.plan import Line
from polyglance.studies.results import Cell, Results, Test, column_tables, joint_columns
from polyglance.studies.schema import Column

NONE = "–"
WORD_PARAMETERS = (
    "M word parameters: millions of numbers trained to make words into vectors, a table's words "
    "or characters, layers and norms; of a row with several trainings their sum"
)

COSTS = {
    "epoch": "s per epoch: seconds of training for one pass over its data, evaluations included; "
    "of a row with several trainings their sum. Other runs shared the machine",
    "memory": "GiB of memory: the most that the training process held, with features mapped from "
    "disk; of a row with several trainings the largest",
}


@dataclass(frozen=True)
class Table:
    """Text cells. `groups` are (heading, number of columns) above `header`, rows have a level."""

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
    """ "58.7 ± 0.4", with the number of seeds where some are lacking."""
    if cell.series is None:
        return NONE
    digits = cell.column.digits
    text = f"{cell.series.mean:.{digits}f}"
    if cell.series.sd is not None and cell.column.parameters is None:
        text += f" ± {cell.series.sd:.{digits}f}"
    few = len(cell.seeds) < seeds
    return f"{text} ({len(cell.seeds)} of {seeds})" if few else text


def change(test: Difference, digits: int = 1) -> str:
    """ "+1.2** [+0.4, +2.0]" """
    stars = next((mark for limit, mark in STARS if test.p < limit), "")
    low, high = f"{test.low:+.{digits}f}", f"{test.high:+.{digits}f}"
    return f"{test.difference:+.{digits}f}{stars} [{low}, {high}]"


def result_tables(results: Results, failed: Mapping[str, str]) -> list[Table]:
    """paper | ours by column; the notes are below the last table."""
    parts = column_tables(results.plan.columns)
    tables = [_result_table(results, failed, name, part) for name, part in parts.items()]
    tables[-1].notes.extend(_notes(results))
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
    notes += [f"{part.title}: {part.note}" for part in plan.study.parts if part.note]
    return notes + [f"{line.title}: {line.row.note}" for line in plan.lines if line.row.note]


def _share(name: str, shares: Mapping[str, float]) -> str:
    """Which share of words was changed in each language."""
    parts = ", ".join(f"{code} {share:.0f}" for code, share in sorted(shares.items()))
    return f"{name}, % of words changed: {parts}"


def _result_table(
    results: Results, failed: Mapping[str, str], name: str, columns: list[Column]
) -> Table:
    """Columns of one table; the last line is chance."""
    plan = results.plan
    places = [plan.columns.index(column) for column in columns]
    has_paper = [any(row[i].paper is not None for row in results.cells) for i in places]
    groups, header = _heads([heading(column) for column in columns], has_paper)
    rows = []
    for line, all_cells in zip(plan.lines, results.cells, strict=True):
        cells = [all_cells[i] for i in places]
        row = [line.title]
        for cell, paper in zip(cells, has_paper, strict=True):
            row += ([_number(cell.paper, cell.column.digits)] if paper else []) + [
                _ours(cell, line, plan.seeds, failed)
            ]
        rows.append(row)
    if plan.study.experiment is None:
        rows.append(_chance_row([[cells[i] for i in places] for cells in results.cells], has_paper))
    sections = _sections(results, [line.row.name for line in plan.lines])
    return Table(_title("Results", name), groups, header, rows, sections)


def _title(word: str, name: str) -> str:
    return f"{word}: {name}" if name else word


def difference_tables(results: Results) -> list[Table]:
    """Differences from the reference rows; that of the mean follows the last column in it."""
    parts = column_tables(results.plan.columns)
    last = joint_columns(results.plan.columns)[-1].table
    tables = [_difference_table(results, name, part, name == last) for name, part in parts.items()]
    return [table for table in tables if table is not None]


def _difference_table(
    results: Results, name: str, columns_shown: list[Column], with_mean: bool
) -> Table | None:
    """Differences in some columns, with the paper's where it has both numbers."""
    kinds = {column.title: column for column in columns_shown}
    if with_mean:
        kinds[""] = joint_columns(results.plan.columns)[0]
    tests: dict[tuple[int, str], Test] = {}
    for test in results.tests:
        key = test.column.title if test.column else ""
        if key in kinds:
            tests[results.plan.lines.index(test.line), key] = test
    if not tests:
        return None
    columns = [(key, heading(c) if key else "mean") for key, c in kinds.items()]
    columns = [(key, text) for key, text in columns if any(k == key for _, k in tests)]
    papers = {
        key: any(t.paper is not None for (_, k), t in tests.items() if k == key)
        for key, _ in columns
    }
    groups, header = _heads([text for _, text in columns], [papers[key] for key, _ in columns])
    rows, names = [], []
    for position in sorted({position for position, _ in tests}):
        own = {k: t for (p, k), t in tests.items() if p == position}
        some = next(iter(own.values()))
        names.append(some.line.row.name)
        row = [f"{some.line.title} − {some.reference.title}"]
        for key, _ in columns:
            found = own.get(key)
            paper = None if found is None else found.paper
            digits = kinds[key].digits
            row += [NONE if paper is None else f"{paper:+.{digits}f}"] if papers[key] else []
            row.append(NONE if found is None else change(found.difference, digits))
        rows.append(row)
    widths = [[kinds[key].better == "lower"] * (1 + papers[key]) for key, _ in columns]
    lower = frozenset(i for i, low in enumerate(chain([False], *widths)) if low)
    title = _title("Differences", name)
    return Table(title, groups, header, rows, _sections(results, names), lower=lower)


def _heads(names: list[str], papers: list[bool]) -> tuple[list[tuple[str, int]], list[str]]:
    """Headings of columns, in one line where the paper has no numbers, else in two."""
    if not any(papers):
        return [], ["", *names]
    groups, header = [("", 1)], [""]
    for name, paper in zip(names, papers, strict=True):
        groups.append((name, 2 if paper else 1))
        header += ["paper", "ours"] if paper else ["ours"]
    return groups, header


def heading(column: Column) -> str:
    """A column's name with what it measures, said once; a measure's name says enough."""
    named = column.measure or column.counted or column.shown in column.title
    return column.title if named else f"{column.title} {column.shown}"


def _number(value: float | None, digits: int = 1) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def _ours(cell: Cell, line: Line, seeds: int, failed: Mapping[str, str]) -> str:
    if cell.series is not None:
        return mean_sd(cell, seeds)
    members = {key for source in line.sources for code, key in source.items()}
    wanted = cell.column.language or measure_of(cell.column, line.row)
    if wanted:
        members = {source[wanted] for source in line.sources if wanted in source}
    return "failed" if members & set(failed) else NONE


def _chance_row(rows: list[list[Cell]], has_paper: list[bool]) -> list[str]:
    row = ["chance"]
    for i, paper in enumerate(has_paper):
        levels = [cells[i].chance for cells in rows if cells[i].chance is not None]
        row += ([""] if paper else []) + [_number(levels[0] if levels else None)]
    return row


def _sections(results: Results, names: list[str]) -> dict[int, str]:
    """Titles before the first line of each section that has one."""
    found: dict[int, str] = {}
    for part in results.plan.study.parts:
        positions = [i for i, n in enumerate(names) if n in {row.name for row in part.rows}]
        if positions and part.title:
            found[positions[0]] = part.title
    return found
