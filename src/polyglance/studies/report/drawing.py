"""What all plots of a report share: colours, style, SVG."""

import io
from dataclasses import dataclass
from typing import Any

from polyglance.studies.results import Results

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


def colours_of(results: Results) -> dict[str, str]:
    """Row → colour."""
    names = [row.name for row in results.plan.study.all_rows]
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def paper_key(axes: Any, results: Results) -> None:
    """Say in the legend what diamonds are, where the paper has figures."""
    if any(cell.paper is not None for row in results.cells for cell in row):
        style = {"color": "white", "markeredgecolor": INK, "markersize": 4.5}
        axes.plot([], [], "D", label=PAPER, **style)


def add_legend(figure: Any, axes: Any) -> None:
    """Below the panels, in as many columns as fit; the paper goes last."""
    keys = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda k: k[1] == PAPER)
    handles, labels = zip(*keys, strict=True)
    longest = max(map(len, labels), default=1)
    columns = max(1, min(len(labels), int(figure.get_figwidth() * 12 / (longest + 6))))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )


def to_svg(figure: Any) -> bytes:
    """The same figure gives the same bytes."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": "polyglance"})
    return buffer.getvalue()
