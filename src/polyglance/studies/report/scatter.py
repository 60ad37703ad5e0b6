"""A point for every row: one column against another, with labels that do not cover each other."""

import math
from typing import Any, NamedTuple

from polyglance.studies.report.drawing import GRID, INK, Plot, colours_of, to_svg
from polyglance.studies.report.tables import heading
from polyglance.studies.results import Cell, Results
from polyglance.studies.schema import Column

PLACES = [
    (reach * x, reach * y)
    for reach in (1, 2.2, 3.6)
    for x, y in ((8, 0), (0, 9), (0, -9), (-8, 0), (7, 8), (7, -8), (-7, 8), (-7, -8))
]
"""Where a label may stand, in points from its own; the first that is free is taken."""


class Point(NamedTuple):
    """A row's place in a panel, with its spread over seeds and the paper's place."""

    label: str
    colour: str
    x: float
    y: float
    spread: float
    paper: tuple[float, float] | None


def draw_scatter(results: Results) -> list[Plot]:
    """The picture that the study asks for, if there are numbers for it."""
    wanted = results.plan.study.scatter
    if wanted is None:
        return []
    columns = {column.title: column for column in results.plan.columns}
    panels = [
        (columns[title], points)
        for title in wanted.y
        if title in columns and (points := _points(results, columns[wanted.x], columns[title]))
    ]
    if not panels:
        return []
    from matplotlib.figure import Figure

    across = min(2, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(5.6 * across, 4.0 * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (column, points) in zip(grid, panels, strict=False):
        _panel(axes, heading(columns[wanted.x]), column, points, wanted.log)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    _label(figure, list(zip(grid, (points for _, points in panels), strict=False)))
    paper = any(point.paper for _, points in panels for point in points)
    caption = f"Mean over seeds against {heading(columns[wanted.x])}, whiskers ± one standard "
    caption += "deviation" + (", diamonds the paper's figures" if paper else "")
    return [Plot("scatter", caption, to_svg(figure))]


def _points(results: Results, x: Column, y: Column) -> list[Point]:
    study, colours, found = results.plan.study, colours_of(results), []
    show_paper = study.scatter is not None and study.scatter.paper
    for line in results.plan.lines:
        across, up = results.cell(line, x), results.cell(line, y)
        if across.series is None or up.series is None:
            continue
        name = study.labels[line.row.name] + ("" if line.x is None else f", {line.x}")
        mean, spread = up.series.mean, up.series.sd or 0.0
        place = across.series.mean, mean, spread, _paper(across, up) if show_paper else None
        found.append(Point(name, colours[line.row.name], *place))
    return found


def _paper(x: Cell, y: Cell) -> tuple[float, float] | None:
    return None if x.paper is None or y.paper is None else (x.paper, y.paper)


def _panel(axes: Any, x_title: str, column: Column, points: list[Point], log: bool) -> None:
    for point in points:
        axes.errorbar(
            point.x, point.y, point.spread, fmt="o", color=point.colour, ecolor=INK, capsize=2
        )
        if point.paper is not None:
            axes.plot(*point.paper, "D", color="white", markeredgecolor=point.colour, ms=5)
    if log:
        _log_scale(axes)
    axes.margins(0.12)
    axes.set(xlabel=x_title, ylabel=heading(column))
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def _log_scale(axes: Any) -> None:
    """Powers of ten with 2 and 5 between, in plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _label(figure: Any, panels: list[tuple[Any, list[Point]]]) -> None:
    """Write each row's name beside its point, where no other name or point is."""
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
            text = axes.annotate(
                point.label,
                (point.x, point.y),
                (0, 0),
                textcoords="offset points",
                fontsize=7.5,
                color=point.colour,
            )
            taken.append(_place(text, axes.bbox, taken, canvas.get_renderer()))


def _place(text: Any, frame: Any, taken: list[Any], renderer: Any) -> Any:
    """Move a label to the first free place; the one that covers least where none is free."""
    tried: list[tuple[int, int, tuple[float, float], Any]] = []
    for place in PLACES:
        _move(text, place)
        box = text.get_window_extent(renderer)
        outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y1 > frame.y1
        covered = sum(box.overlaps(other) for other in taken) + 2 * outside
        if not covered:
            return box
        tried.append((covered, len(tried), place, box))
    _, _, place, box = min(tried)
    _move(text, place)
    return box


def _move(text: Any, place: tuple[float, float]) -> None:
    """Put a label at an offset; it grows away from its point."""
    x, y = place
    text.set_position(place)
    text.set_horizontalalignment("left" if x > 0 else "right" if x < 0 else "center")
    text.set_verticalalignment("bottom" if y > 0 else "top" if y < 0 else "center")
