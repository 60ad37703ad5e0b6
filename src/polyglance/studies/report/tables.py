"""The report's tables as text, for Markdown and HTML alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyglance.evaluation.bootstrap import Difference
from polyglance.evaluation.tables import STARS
from polyglance.studies.plan import Line
from polyglance.studies.results import Cell, Results, Test
from polyglance.studies.schema import Column

NONE = "–"


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


def mean_sd(cell: Cell, seeds: int, digits: int = 1) -> str:
    """ "58.7 ± 0.4", with the number of seeds where some are lacking."""
    if cell.series is None:
        return NONE
    text = f"{cell.series.mean:.{digits}f}"
    if cell.series.sd is not None:
        text += f" ± {cell.series.sd:.{digits}f}"
    few = len(cell.seeds) < seeds
    return f"{text} ({len(cell.seeds)} of {seeds})" if few else text


def change(test: Difference) -> str:
    """ "+1.2** [+0.4, +2.0]" """
    stars = next((mark for limit, mark in STARS if test.p < limit), "")
    return f"{test.difference:+.1f}{stars} [{test.low:+.1f}, {test.high:+.1f}]"


def result_table(results: Results, failed: Mapping[str, str]) -> Table:
    """paper | ours by column; the last line is chance."""
    plan = results.plan
    has_paper = [
        any(row[i].paper is not None for row in results.cells) for i in range(len(plan.columns))
    ]
    groups, header = _heads([heading(column) for column in plan.columns], has_paper)
    rows = []
    for line, cells in zip(plan.lines, results.cells, strict=True):
        row = [line.title]
        for cell, paper in zip(cells, has_paper, strict=True):
            row += ([_number(cell.paper)] if paper else []) + [
                _ours(cell, line, plan.seeds, failed)
            ]
        rows.append(row)
    rows.append(_chance_row(results, has_paper))
    sections = _sections(results, [line.row.name for line in plan.lines])
    notes = [f"{plan.seeds} seeds, mean ± standard deviation" if plan.seeds > 1 else "one seed"]
    notes += [f"{part.title}: {part.note}" for part in plan.study.parts if part.note]
    notes += [f"{line.title}: {line.row.note}" for line in plan.lines if line.row.note]
    return Table("Results", groups, header, rows, sections, notes)


def difference_table(results: Results) -> Table | None:
    """Differences from the reference rows, with the paper's where it has both numbers."""
    tests: dict[tuple[int, str], Test] = {}
    for test in results.tests:
        key = test.column.title if test.column else ""
        tests[results.plan.lines.index(test.line), key] = test
    if not tests:
        return None
    columns = [(c.title, heading(c)) for c in results.plan.columns] + [("", "mean")]
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
            row += [NONE if paper is None else f"{paper:+.1f}"] if papers[key] else []
            row.append(NONE if found is None else change(found.difference))
        rows.append(row)
    return Table("Differences", groups, header, rows, _sections(results, names))


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
    """A column's name with what it measures, said once."""
    return column.title if column.measure in column.title else f"{column.title} {column.measure}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f}"


def _ours(cell: Cell, line: Line, seeds: int, failed: Mapping[str, str]) -> str:
    if cell.series is not None:
        return mean_sd(cell, seeds)
    members = {key for source in line.sources for code, key in source.items()}
    wanted = cell.column.language
    if wanted is not None:
        members = {source[wanted] for source in line.sources if wanted in source}
    return "failed" if members & set(failed) else NONE


def _chance_row(results: Results, has_paper: list[bool]) -> list[str]:
    row = ["chance"]
    for i, paper in enumerate(has_paper):
        levels = [cells[i].chance for cells in results.cells if cells[i].chance is not None]
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
