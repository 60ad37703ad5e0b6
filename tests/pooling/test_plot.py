"""Curves of learned coefficients, and what the figure of them shows."""

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image
from torch import Tensor, nn

from polyglance.pooling import Pooling, build_pooling
from polyglance.pooling.plot import Curve, curves, draw, learned


class Known(Pooling):
    """Coefficients that are given, [M] or [M, D]."""

    def __init__(self, theta: list) -> None:
        super().__init__(2)
        self.theta = torch.tensor(theta)

    def coefficients(self, lengths: Tensor) -> Tensor:
        return self.theta[: int(lengths.max())].expand(len(lengths), *self.theta.shape)


def test_curves_are_cut_to_their_sizes() -> None:
    found = curves(Known([0.5, 0.25, 0.125, 0.0625]), [2, 4])
    assert found == [
        Curve(2, [0.5, 0.25], None),
        Curve(4, [0.5, 0.25, 0.125, 0.0625], None),
    ]
    assert [line.mass(slice(1, 3)) for line in found] == [0.25, 0.375]


def test_dimensions_have_a_mean_and_a_deviation() -> None:
    (found,) = curves(Known([[1.0, 3.0], [0.5, 0.5], [-2.0, 8.0]]), [3])
    assert found == Curve(3, [2.0, 0.5, 3.0], [1.0, 0.0, 5.0])


def test_poolings_with_coefficients_are_found_by_their_names() -> None:
    class Tower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = build_pooling("gpo", 2)
            self.plain = build_pooling("mean", 2)
            self.parts = nn.ModuleDict({"de": build_pooling("fspool", 2)})
            self.stranger = nn.Linear(2, 2)
            self.stranger.coefficients = [1.0]

    tower = Tower()
    assert learned(tower) == {"first": tower.first, "parts.de": tower.parts["de"]}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures that were written to files."""
    figures: list[Figure] = []
    write = FigureCanvasAgg.print_png

    def keep(canvas: FigureCanvasAgg, *arguments: object, **named: object) -> None:
        figures.append(canvas.figure)
        write(canvas, *arguments, **named)

    monkeypatch.setattr(FigureCanvasAgg, "print_png", keep)
    return figures


def test_the_figure(tmp_path: Path, drawn: list[Figure]) -> None:
    three = Curve(3, [0.5, 0.25, 0.25], None)
    two = Curve(2, [1.0, 3.0], [0.5, 0.25])
    draw(tmp_path / "c.png", {"image: a": [three, Curve(1, [1.0], None)], "text: b": [two]})
    (figure,) = drawn
    with Image.open(tmp_path / "c.png") as image:
        assert (image.format, image.size) == ("PNG", (900, 360))
    assert isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
    first, second = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["image: a", "text: b"]
    for axis in figure.axes:
        assert axis.get_xlabel() == "rank, the largest value first"
        assert axis.get_ylabel() == "coefficient"
        ticks = axis.xaxis.get_major_locator()()
        assert np.array_equal(ticks, ticks.round())
    shown = [(list(line.get_xdata()), list(line.get_ydata())) for line in first.lines]
    assert shown == [([1, 2, 3], [0.5, 0.25, 0.25]), ([1], [1.0])]
    texts = [text.get_text() for text in first.get_legend().get_texts()]
    assert texts == ["n = 3", "n = 1"]
    assert not first.collections
    # A set of one is a line without length: it needs a marker.
    assert all(line.get_marker() == "o" for line in first.lines)
    (band,) = second.collections
    corners = {(x, y) for x, y in band.get_paths()[0].vertices}
    assert {(1, 0.5), (1, 1.5), (2, 2.75), (2, 3.25)} <= corners
    assert {x for x, _ in corners} == {1, 2}
    assert 0 < band.get_alpha() < 0.5
    assert second.lines[0].get_linewidth() > 0


def test_one_panel_and_no_half_ranks(tmp_path: Path, drawn: list[Figure]) -> None:
    draw(tmp_path / "deep" / "c.png", {"image": [Curve(2, [0.75, 0.25], None)]})
    with Image.open(tmp_path / "deep" / "c.png") as image:
        assert image.size == (450, 360)
    (axis,) = drawn[0].axes
    low, high = axis.get_xlim()
    assert [tick for tick in axis.get_xticks() if low <= tick <= high] == [1, 2]
