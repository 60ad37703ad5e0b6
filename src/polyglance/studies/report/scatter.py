"""Scatter plots: a labelled point per row, one column against another, without overlaps."""

from typing import Any, NamedTuple

from polyglance.studies.findings.results import Results
from polyglance.studies.format.schema import Column
from polyglance.studies.report.drawing import (
    GRID,
    INK,
    Plot,
    colours_of,
    filled_columns,
    make_panels,
    plot_paper,
    to_svg,
)
from polyglance.studies.report.tables import heading

PLACES = [
    (reach * x, reach * y)
    for reach in (1, 2.2, 3.6)
    for x, y in ((8, 0), (0, 9), (0, -9), (-8, 0), (7, 8), (7, -8), (-7, 8), (-7, -8))
]
"""Candidate positions of a label relative to its point; the first free one is used."""


class Point(NamedTuple):
    """A row's position in a panel, with its standard deviation and the paper's position."""

    label: str
    colour: str
    x: float
    y: float
    spread: float
    paper: tuple[float, float] | None


def draw_scatter(results: Results) -> list[Plot]:
    """The study's scatter plot, if there are values for it."""
    wanted = results.plan.study.scatter
    if wanted is None:
        return []
    x = next(column for column in results.plan.columns if column.title == wanted.x)
    panels = filled_columns(results, wanted.y, lambda y: _points(results, x, y, wanted.paper))
    if not panels:
        return []
    figure, grid = make_panels(len(panels), min(2, len(panels)), (5.6, 4.0))
    for axes, (column, points) in zip(grid, panels, strict=True):
        _panel(axes, points, wanted.log)
        axes.set(xlabel=heading(x), ylabel=heading(column))
    _label(figure, [(axes, points) for axes, (_, points) in zip(grid, panels, strict=True)])
    paper = any(point.paper for _, points in panels for point in points)
    caption = f"Mean over seeds against {heading(x)}, whiskers ± one standard deviation"
    caption += ", diamonds the paper's figures" if paper else ""
    return [Plot("scatter", caption, to_svg(figure))]


def _points(results: Results, x: Column, y: Column, show_paper: bool) -> list[Point]:
    study, colours, found = results.plan.study, colours_of(results), []
    for line in results.plan.lines:
        across, up = results.cell(line, x), results.cell(line, y)
        if across.series is None or up.series is None:
            continue
        label = study.labels[line.row.name] + ("" if line.x is None else f", {line.x}")
        paper = None
        if show_paper and across.paper is not None and up.paper is not None:
            paper = across.paper, up.paper
        place = across.series.mean, up.series.mean, up.series.sd or 0.0, paper
        found.append(Point(label, colours[line.row.name], *place))
    return found


def _panel(axes: Any, points: list[Point], log: bool) -> None:
    for point in points:
        style = {"fmt": "o", "color": point.colour, "ecolor": INK, "capsize": 2}
        axes.errorbar(point.x, point.y, point.spread, **style)
        if point.paper is not None:
            plot_paper(axes, *point.paper, point.colour, 5)
    if log:
        _log_scale(axes)
    axes.margins(0.12)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def _log_scale(axes: Any) -> None:
    """Powers of ten with 2 and 5 in between, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _label(figure: Any, panels: list[tuple[Any, list[Point]]]) -> None:
    """Write each row's name beside its point, without covering other names or points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    figure.set_layout_engine("none")
    for axes, points in panels:
        taken = []
        for point in points:
            x, low = axes.transData.transform((point.x, point.y - point.spread))
            high = axes.transData.transform((point.x, point.y + point.spread))[1]
            taken.append(Bbox.from_extents(x - 4, low - 4, x + 4, high + 4))
        for point in points:
            style: Any = {"textcoords": "offset points", "fontsize": 7.5, "color": point.colour}
            text = axes.annotate(point.label, (point.x, point.y), (0, 0), **style)
            taken.append(_place(text, axes.bbox, taken, canvas.get_renderer()))


def _place(text: Any, frame: Any, taken: list[Any], renderer: Any) -> Any:
    """Move a label to the first free position; if none is free, to the one that covers least."""
    tried: list[tuple[int, int]] = []
    for number, place in enumerate(PLACES):
        box = _move(text, place, renderer)
        outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y1 > frame.y1
        covered = sum(box.overlaps(other) for other in taken) + 2 * outside
        if not covered:
            return box
        tried.append((covered, number))
    return _move(text, PLACES[min(tried)[1]], renderer)


def _move(text: Any, place: tuple[float, float], renderer: Any) -> Any:
    """Put a label at an offset, growing away from its point; its bounding box."""
    x, y = place
    text.set_position(place)
    text.set_horizontalalignment("left" if x > 0 else "right" if x < 0 else "center")
    text.set_verticalalignment("bottom" if y > 0 else "top" if y < 0 else "center")
    return text.get_window_extent(renderer)
