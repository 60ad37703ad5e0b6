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
"""Okabe and Ito's colours, distinguishable for most colour-blind people, then Tol's."""

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
    """An SVG, and its caption."""

    name: str
    caption: str
    svg: bytes


LINE_HEIGHT = 0.19
"""Height of a legend line in inches."""


def colour(number: int) -> str:
    """The colour of a row or section by its index."""
    return COLOURS[number % len(COLOURS)]


def colours_of(results: Results) -> dict[str, str]:
    """Row → colour."""
    return {row.name: colour(i) for i, row in enumerate(results.plan.study.all_rows)}


def filled_columns(
    results: Results, titles: Iterable[str], find: Callable[[Column], T]
) -> list[tuple[Column, T]]:
    """Columns with what is to be drawn for them.

    Args:
        results: whose plan has the columns.
        titles: of the columns; missing ones are left out.
        find: column → what to draw; columns with nothing are left out.
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
        across: largest number per line.
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
    """Set the title, x label and grid of a panel.

    Args:
        axes: Matplotlib's, of one panel.
        title: above the panel.
        x_label: label of the x axis.
    """
    axes.set(title=title, xlabel=x_label)
    axes.title.set_fontsize(10)
    axes.grid(color=GRID, linewidth=0.7)


def plot_paper(axes: Any, x: Any, y: Any, edge: str = INK, size: float = 4.5, **more: Any) -> None:
    """Draw the paper's values as diamonds.

    Args:
        axes: Matplotlib's.
        x: one or several positions.
        y: the paper's values at these.
        edge: outline colour.
        size: of the diamond, in points.
        more: passed to `axes.plot`.
    """
    axes.plot(x, y, "D", color="white", markeredgecolor=edge, markersize=size, **more)


def add_legend(figure: Any, axes: Any, results: Results | None = None) -> None:
    """Add a legend below the panels, in as many columns as fit.

    Args:
        figure: Matplotlib's.
        axes: the panel whose labels are shown.
        results: if they include values of the paper, a diamond is added as the last label.
    """
    if results is not None and results.has_paper:
        plot_paper(axes, [], [], label=PAPER)
    keys = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda k: k[1] == PAPER)
    handles, labels = zip(*keys, strict=True)
    longest = max(map(len, labels), default=1)
    columns = max(1, min(len(labels), int(figure.get_figwidth() * 12 / (longest + 6))))
    # The long legend of a table with many rows must not take space from the panels.
    lines = math.ceil(len(labels) / columns)
    figure.set_figheight(figure.get_figheight() + LINE_HEIGHT * max(0, lines - 4))
    place = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles, labels, **place, frameon=False, fontsize=9)


def to_svg(figure: Any) -> bytes:
    """As SVG; the same figure always gives the same bytes."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": "polyglance"})
    return buffer.getvalue()
