"""What all plots of a report share: colours, style, panels, SVG."""

import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from polyglance.studies.findings.results import Results
from polyglance.studies.format.schema import Column

T = TypeVar("T")
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"),
    *("#6B6B6B", "#8C6D31", "#332288", "#AA4499", "#117733", "#882255"),
)
"""Okabe and Ito's, which most colour-blind people can tell apart, then Tol's."""

PAPER = "paper"
INK, GRID = "#222222", "#dddddd"
STYLE: Any = {
    "font.size": 9.5,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "polyglance",
}


@dataclass(frozen=True)
class Plot:
    """An SVG, and what it shows in words."""

    name: str
    caption: str
    svg: bytes


LINE_HEIGHT = 0.19
"""Inches of a line of a legend."""


def colour(number: int) -> str:
    """The colour of a row or section by its number."""
    return COLOURS[number % len(COLOURS)]


def colours_of(results: Results) -> dict[str, str]:
    """Row → colour."""
    return {row.name: colour(i) for i, row in enumerate(results.plan.study.all_rows)}


def filled_columns(
    results: Results, titles: Iterable[str], find: Callable[[Column], T]
) -> list[tuple[Column, T]]:
    """Columns with what is to be drawn of them.

    Args:
        results: their plan has the columns.
        titles: of the columns wanted; those that are missing are left out.
        find: column → what to draw of it; columns without anything are left out.
    """
    columns = {column.title: column for column in results.plan.columns}
    found = [(columns[title], find(columns[title])) for title in titles if title in columns]
    return [(column, values) for column, values in found if values]


def make_panels(
    count: int, across: int, size: tuple[float, float], margin: float = 0.0
) -> tuple[Any, list[Any]]:
    """A figure with `count` axes, `across` of them side by side.

    Args:
        count: number of axes.
        across: the most in a line.
        size: width and height of one in inches.
        margin: added to the figure's width and height, for a legend.
    """
    from matplotlib.figure import Figure

    down = math.ceil(count / across)
    sides = size[0] * across + margin, size[1] * down + margin
    figure = Figure(figsize=sides, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, list(grid[:count])


def name_axes(axes: Any, title: str, x_label: str) -> None:
    """Set the title, the name of x and the grid of a panel.

    Args:
        axes: Matplotlib's, of one panel.
        title: above the panel.
        x_label: the name of x.
    """
    axes.set(title=title, xlabel=x_label)
    axes.title.set_fontsize(10)
    axes.grid(color=GRID, linewidth=0.7)


def plot_paper(axes: Any, x: Any, y: Any, edge: str = INK, size: float = 4.5, **more: Any) -> None:
    """Draw the paper's numbers as diamonds.

    Args:
        axes: Matplotlib's.
        x: where; a number or several.
        y: the paper's numbers, as many.
        edge: colour of the outline.
        size: of the diamond, in points.
        more: passed on to `axes.plot`.
    """
    axes.plot(x, y, "D", color="white", markeredgecolor=edge, markersize=size, **more)


def add_legend(figure: Any, axes: Any, results: Results | None = None) -> None:
    """Add a legend below the panels, in as many columns as fit.

    Args:
        figure: Matplotlib's.
        axes: the panel whose labels are shown.
        results: where they have numbers of the paper, its diamond is added as the last label.
    """
    if results is not None and results.has_paper:
        plot_paper(axes, [], [], label=PAPER)
    keys = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda k: k[1] == PAPER)
    handles, labels = zip(*keys, strict=True)
    longest = max(map(len, labels), default=1)
    columns = max(1, min(len(labels), int(figure.get_figwidth() * 12 / (longest + 6))))
    # A table of many rows has a long legend, which must not take the panels' place.
    lines = math.ceil(len(labels) / columns)
    figure.set_figheight(figure.get_figheight() + LINE_HEIGHT * max(0, lines - 4))
    place = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles, labels, **place, frameon=False, fontsize=9)


def to_svg(figure: Any) -> bytes:
    """The same figure gives the same bytes."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": "polyglance"})
    return buffer.getvalue()
