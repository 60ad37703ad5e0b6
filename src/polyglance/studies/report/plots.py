"""Pictures of a study: bars by column, curves against x; see `lines` and `scatter` for others."""

import math
import re
from collections.abc import Sequence
from typing import Any

from polyglance.studies.execute import Options
from polyglance.studies.experiments import experiments
from polyglance.studies.experiments.base import Sample
from polyglance.studies.plan import Line, Plan
from polyglance.studies.report.drawing import (
    GRID,
    INK,
    STYLE,
    Plot,
    add_legend,
    colours_of,
    paper_key,
    to_svg,
)
from polyglance.studies.report.lines import draw_lines
from polyglance.studies.report.scatter import draw_scatter
from polyglance.studies.report.tables import heading
from polyglance.studies.results import Cell, Results, read_measures
from polyglance.studies.schema import Column, Row

BARS_PER_INCH = 5.0


def draw(results: Results) -> list[Plot]:
    """The study's plots; none before there are numbers."""
    if not any(cell.series for row in results.cells for cell in row):
        return []
    from matplotlib import rc_context

    with rc_context(STYLE):
        if results.plan.study.curve is not None:
            return [_curves(results), *draw_scatter(results)]
        groups = _by_unit(results.plan.columns)
        plots = [_bars(results, unit, columns) for unit, columns in groups.items()]
        return [*draw_lines(results), *draw_scatter(results), *plots]


def draw_experiment(plan: Plan, options: Options) -> list[Plot]:
    """The experiment's own picture, of each row's runs with the first seed."""
    name = plan.study.experiment
    picture = None if name is None else experiments.get(name).draw
    samples = []
    for line in plan.lines if picture is not None else ():
        for run in (plan.runs[key] for key in dict.fromkeys(line.sources[0].values())):
            if run.trial is not None and (found := read_measures(options, run)):
                label = plan.study.labels[line.row.name]
                samples.append(Sample(label, run.trial.settings, found["extra"]))
    if picture is None or not samples:
        return []
    from matplotlib import rc_context

    with rc_context(STYLE):
        caption, figure = picture(samples)
        return [Plot("experiment", caption, to_svg(figure))]


def _by_unit(columns: Sequence[Column]) -> dict[str, list[Column]]:
    """Columns that can share an axis."""
    units = {"rsum": "rsum", "medr": "median rank"}
    groups: dict[str, list[Column]] = {}
    for column in columns:
        if column.counted:
            continue
        unit = units.get(column.metric, "recall (%)")
        unit = f"change of {unit}" if column.change else unit
        if column.measure is not None:
            unit = f"{column.unit or 'value'} {column.table}".strip()
        groups.setdefault(unit, []).append(column)
    return groups


def _bars(results: Results, unit: str, columns: list[Column]) -> Plot:
    from matplotlib.figure import Figure

    colours, labels = colours_of(results), results.plan.study.labels
    lines = results.plan.lines
    width = min(14.0, max(6.0, len(lines) * len(columns) / BARS_PER_INCH + len(columns) * 0.25))
    figure = Figure(figsize=(width, 4.2), layout="constrained")
    axes = figure.subplots()
    step = 0.84 / len(lines)
    for n, line in enumerate(lines):
        for place, column in enumerate(columns):
            x = place + (n - (len(lines) - 1) / 2) * step
            label = labels[line.row.name] if place == 0 else None
            _bar(axes, x, step * 0.92, results.cell(line, column), colours[line.row.name], label)
    for place, column in enumerate(columns):
        _chance(axes, place, [results.cell(line, column) for line in lines])
    names = [_tick(column, columns) for column in columns]
    axes.set_xticks(range(len(columns)), names)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.55, len(columns) - 0.45)
    measures = {column.shown or unit for column in columns}
    axes.set_ylabel(unit if len(measures) > 1 else measures.pop() + (" (%)" if "%" in unit else ""))
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    paper_key(axes, results)
    add_legend(figure, axes)
    caption = f"{unit}: mean over seeds, whiskers ± one standard deviation"
    chance = any(cell.chance is not None for row in results.cells for cell in row)
    caption += ", dotted line chance" if chance else ""
    paper = any(c.paper is not None for row in results.cells for c in row)
    caption += ", diamonds the paper's figures" if paper else ""
    suffix = {"recall (%)": "bars", "median rank": "ranks"}.get(unit, unit)
    suffix = re.sub(r"\W+", "-", suffix.lower()).strip("-") or "bars"
    return Plot(suffix, caption, to_svg(figure))


def _bar(axes: Any, x: float, width: float, cell: Cell, colour: str, label: str | None) -> None:
    mean = math.nan if cell.series is None else cell.series.mean
    axes.bar(x, mean, width, color=colour, label=label)
    if cell.series is not None and cell.series.sd is not None:
        axes.errorbar(x, mean, cell.series.sd, color=INK, capsize=2, linewidth=0.9)
    if cell.paper is not None:
        axes.plot(x, cell.paper, "D", color="white", markeredgecolor=INK, markersize=4.5)


def _chance(axes: Any, place: int, cells: list[Cell]) -> None:
    levels = [cell.chance for cell in cells if cell.chance is not None]
    if levels:
        axes.hlines(levels[0], place - 0.45, place + 0.45, INK, "dotted", linewidth=1.2)


def _tick(column: Column, columns: list[Column]) -> str:
    if column.measure is not None:
        return column.title.replace(" ", "\n", 1)
    if len({other.shown for other in columns}) == 1:
        return column.title
    return heading(column).replace(" ", "\n", 1)


def _curves(results: Results) -> Plot:
    from matplotlib.figure import Figure

    plan = results.plan
    assert plan.study.curve is not None
    columns = [column for column in plan.columns if not column.counted]
    across = 2 if len(columns) == 4 else min(3, len(columns))
    down = math.ceil(len(columns) / across)
    figure = Figure(figsize=(3.9 * across + 0.6, 3.1 * down + 0.6))
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    xs = list(dict.fromkeys(line.x for line in plan.lines if line.x is not None))
    numeric = all(isinstance(x, int | float) for x in xs)
    places = {x: float(x) if numeric else i for i, x in enumerate(xs)}
    colours, labels = colours_of(results), results.plan.study.labels
    for axes, column in zip(grid, columns, strict=False):
        for row in plan.study.all_rows:
            own = [line for line in plan.lines if line.row.name == row.name]
            _curve(axes, results, row, own, column, places, colours[row.name], labels[row.name])
        if plan.study.curve.log and min(places.values()) > 0:
            axes.set_xscale("log")
        elif plan.study.curve.log:
            axes.set_xscale("symlog", linthresh=min(x for x in places.values() if x > 0))
        if plan.study.curve.log_y:
            axes.set_yscale("log")
        axes.set_xticks(list(places.values()), [_short(x) for x in places])
        axes.minorticks_off()
        crowded = len(places) > 5
        axes.tick_params(
            axis="x", labelsize=8 if crowded else 9.5, labelrotation=35 if crowded else 0
        )
        axes.set(title=heading(column), xlabel=plan.study.curve.label or plan.study.curve.path)
        axes.title.set_fontsize(10)
        axes.grid(color=GRID, linewidth=0.7)
    for axes in grid[len(columns) :]:
        axes.set_visible(False)
    paper_key(grid[0], results)
    add_legend(figure, grid[0])
    caption = "Mean over seeds against x, bands ± one standard deviation"
    return Plot("curves", caption, to_svg(figure))


def _curve(
    axes: Any,
    results: Results,
    row: Row,
    lines: list[Line],
    column: Column,
    places: dict[Any, float],
    colour: str,
    label: str,
) -> None:
    cells = [(line.x, results.cell(line, column)) for line in lines]
    drawn = [(x, cell.series) for x, cell in cells if cell.series is not None]
    if not row.curve:
        mean = drawn[0][1].mean if drawn else math.nan
        axes.axhline(mean, color=colour, linestyle="dashed", linewidth=1.4, label=label)
        return
    at = [places[x] for x, _ in drawn]
    means = [series.mean for _, series in drawn]
    spreads = [series.sd or 0.0 for _, series in drawn]
    axes.plot(at, means, "o-", color=colour, markersize=4, linewidth=1.6, label=label)
    low = [m - s for m, s in zip(means, spreads, strict=True)]
    high = [m + s for m, s in zip(means, spreads, strict=True)]
    axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
    for x, cell in cells:
        if cell.paper is not None:
            axes.plot(places[x], cell.paper, "D", color="white", markeredgecolor=colour, ms=5)


def _short(x: object) -> str:
    return f"{x:,}" if isinstance(x, int) else f"{x:g}" if isinstance(x, float) else str(x)
