"""Plots of a study: bars by column, curves over x, lines through sections; see `scatter`."""

import math
import re
from typing import Any

import numpy as np

from polyglance.studies.experiments import experiments
from polyglance.studies.experiments.base import Sample
from polyglance.studies.findings.results import Cell, Results, read_measures
from polyglance.studies.findings.statistics import Series
from polyglance.studies.format.schema import Column, CurveSettings, Row
from polyglance.studies.plan import Plan
from polyglance.studies.report.drawing import (
    GRID,
    INK,
    STYLE,
    Plot,
    add_legend,
    colour,
    colours_of,
    filled_columns,
    make_panels,
    name_axes,
    plot_paper,
    to_svg,
)
from polyglance.studies.report.scatter import draw_scatter
from polyglance.studies.report.tables import heading
from polyglance.studies.running.execute import Options

BARS_PER_INCH = 5.0
MARGIN = 0.6
SPREAD = "± one standard deviation"


def draw(results: Results) -> list[Plot]:
    """The study's plots; none before there are results."""
    if not any(cell.series for row in results.cells for cell in row):
        return []
    from matplotlib import rc_context

    with rc_context(STYLE):
        if results.plan.study.curve is not None:
            return [_curves(results, results.plan.study.curve), *draw_scatter(results)]
        groups: dict[str, list[Column]] = {}
        for column in results.plan.columns:
            if not column.counted:
                groups.setdefault(_unit(column), []).append(column)
        bars = [_bars(results, unit, columns) for unit, columns in groups.items()]
        return [*draw_lines(results), *draw_scatter(results), *bars]


def draw_experiment(plan: Plan, options: Options) -> list[Plot]:
    """The experiment's own plot, from each row's runs with the first seed."""
    name = plan.study.experiment
    draw_samples = None if name is None else experiments.get(name).draw
    if draw_samples is None:
        return []
    samples = []
    for line in plan.lines:
        for run in (plan.runs[key] for key in dict.fromkeys(line.sources[0].values())):
            if run.trial is not None and (found := read_measures(options, run)) is not None:
                label = plan.study.labels[line.row.name]
                samples.append(Sample(label, run.trial.settings, found.extra))
    if not samples:
        return []
    from matplotlib import rc_context

    with rc_context(STYLE):
        caption, figure = draw_samples(samples)
        return [Plot("experiment", caption, to_svg(figure))]


def _unit(column: Column) -> str:
    """The unit of a column; columns with the same unit share an axis."""
    if column.measure is not None:
        return f"{column.unit or 'value'} {column.table}".strip()
    unit = {"rsum": "rsum", "medr": "median rank"}.get(column.metric, "recall (%)")
    unit = f"change of {unit}" if column.change else unit
    return f"{unit}, {column.table}" if column.table else unit


def _bars(results: Results, unit: str, columns: list[Column]) -> Plot:
    colours, labels, lines = colours_of(results), results.plan.study.labels, results.plan.lines
    width = min(14.0, max(6.0, len(lines) * len(columns) / BARS_PER_INCH + len(columns) * 0.25))
    figure, (axes,) = make_panels(1, 1, (width, 4.2))
    step = 0.84 / len(lines)
    for n, line in enumerate(lines):
        for place, column in enumerate(columns):
            x = place + (n - (len(lines) - 1) / 2) * step
            label = labels[line.row.name] if place == 0 else None
            _bar(axes, x, step * 0.92, results.cell(line, column), colours[line.row.name], label)
    for place, column in enumerate(columns):
        levels = [results.cell(line, column).chance for line in lines]
        if known := [level for level in levels if level is not None]:
            axes.hlines(known[0], place - 0.45, place + 0.45, INK, "dotted", linewidth=1.2)
    axes.set_xticks(range(len(columns)), [_tick(column, columns) for column in columns])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.55, len(columns) - 0.45)
    measures = {column.shown or unit for column in columns}
    axes.set_ylabel(unit if len(measures) > 1 else measures.pop() + (" (%)" if "%" in unit else ""))
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    add_legend(figure, axes, results)
    caption = f"{unit}: mean over seeds, whiskers {SPREAD}"
    caption += ", dotted line chance" if results.has_chance else ""
    caption += ", diamonds the paper's figures" if results.has_paper else ""
    name = {"recall (%)": "bars", "median rank": "ranks"}.get(unit, unit)
    return Plot(re.sub(r"\W+", "-", name.lower()).strip("-") or "bars", caption, to_svg(figure))


def _bar(axes: Any, x: float, width: float, cell: Cell, shade: str, label: str | None) -> None:
    mean = math.nan if cell.series is None else cell.series.mean
    axes.bar(x, mean, width, color=shade, label=label)
    if cell.series is not None and cell.series.sd is not None:
        axes.errorbar(x, mean, cell.series.sd, color=INK, capsize=2, linewidth=0.9)
    if cell.paper is not None:
        plot_paper(axes, x, cell.paper)


def _tick(column: Column, columns: list[Column]) -> str:
    if column.measure is not None:
        return column.title.replace(" ", "\n", 1)
    if len({other.shown for other in columns}) == 1:
        return column.title
    return heading(column).replace(" ", "\n", 1)


def _curves(results: Results, curve: CurveSettings) -> Plot:
    plan = results.plan
    columns = [column for column in plan.columns if not column.counted]
    across = 2 if len(columns) == 4 else min(3, len(columns))
    figure, grid = make_panels(len(columns), across, (3.9, 3.1), MARGIN)
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
    xs = list(dict.fromkeys(line.x for line in plan.lines if line.x is not None))
    numeric = all(isinstance(x, int | float) for x in xs)
    places = {x: float(x) if numeric else i for i, x in enumerate(xs)}
    colours = colours_of(results)
    for axes, column in zip(grid, columns, strict=True):
        for row in plan.study.all_rows:
            _curve(axes, results, row, column, places, colours[row.name])
        _set_scales(axes, curve, list(places.values()))
        axes.set_xticks(list(places.values()), [_short(x) for x in places])
        axes.minorticks_off()
        size, turn = (8, 35) if len(places) > 5 else (9.5, 0)
        axes.tick_params(axis="x", labelsize=size, labelrotation=turn)
        name_axes(axes, heading(column), curve.label or curve.path)
    add_legend(figure, grid[0], results)
    return Plot("curves", f"Mean over seeds against x, bands {SPREAD}", to_svg(figure))


def _set_scales(axes: Any, curve: CurveSettings, places: list[float]) -> None:
    if curve.log and min(places) > 0:
        axes.set_xscale("log")
    elif curve.log:
        axes.set_xscale("symlog", linthresh=min(x for x in places if x > 0))
    if curve.log_y:
        axes.set_yscale("log")


def _curve(
    axes: Any, results: Results, row: Row, column: Column, places: dict[Any, float], shade: str
) -> None:
    lines = [line for line in results.plan.lines if line.row.name == row.name]
    cells = [(line.x, results.cell(line, column)) for line in lines]
    drawn = [(places.get(x, 0.0), cell.series) for x, cell in cells if cell.series is not None]
    label = results.plan.study.labels[row.name]
    if not row.curve:
        mean = drawn[0][1].mean if drawn else math.nan
        axes.axhline(mean, color=shade, linestyle="dashed", linewidth=1.4, label=label)
        return
    at, means, spreads = _means(drawn)
    axes.plot(at, means, "o-", color=shade, markersize=4, linewidth=1.6, label=label)
    band = {"color": shade, "alpha": 0.18, "linewidth": 0}
    axes.fill_between(at, means - spreads, means + spreads, **band)
    for x, cell in cells:
        if cell.paper is not None:
            plot_paper(axes, places[x], cell.paper, shade, 5)


def _means(points: list[tuple[float, Series]]) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Positions, means and standard deviations of points."""
    means = np.array([series.mean for _, series in points])
    return [x for x, _ in points], means, np.array([series.sd or 0.0 for _, series in points])


def _short(x: object) -> str:
    return f"{x:,}" if isinstance(x, int) else f"{x:g}" if isinstance(x, float) else str(x)


def draw_lines(results: Results) -> list[Plot]:
    """A line per section through the rows whose labels all sections have."""
    study, wanted = results.plan.study, results.plan.study.lines
    if wanted is None:
        return []
    panels = filled_columns(results, wanted.y, lambda column: _section_lines(results, column))
    if not panels:
        return []
    figure, grid = make_panels(len(panels), len(panels), (4.2, 3.1), MARGIN)
    for axes, (column, sections) in zip(grid, panels, strict=True):
        for title, (shade, points) in sections.items():
            style = {"color": shade, "capsize": 2, "label": title}
            axes.errorbar(*_means(points), fmt="o-", markersize=4, **style)
        axes.set_xticks(range(len(study.steps)), study.steps)
        name_axes(axes, heading(column), wanted.label)
    add_legend(figure, grid[0])
    caption = f"Mean over seeds against {wanted.label}, whiskers {SPREAD}"
    return [Plot("lines", caption, to_svg(figure))]


def _section_lines(
    results: Results, column: Column
) -> dict[str, tuple[str, list[tuple[float, Series]]]]:
    """Section → colour and points (position, series), if it has any."""
    steps, found = results.plan.study.steps, {}
    lines = {line.row.name: line for line in results.plan.lines}
    for number, section in enumerate(results.plan.study.sections):
        rows = [row for row in section.rows if row.title in steps and row.name in lines]
        cells = [(steps.index(r.title), results.cell(lines[r.name], column)) for r in rows]
        points = [(float(place), c.series) for place, c in cells if c.series is not None]
        if points:
            found[section.title.partition(":")[0]] = colour(number), points
    return found
