"""A plot and a table of learned pooling coefficients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from polyglance.pooling.base import Pooling
from polyglance.storage.files import atomic


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean weight of every rank in sets of one size, and its `spread` over dimensions, if any."""

    size: int
    mean: list[float]
    spread: list[float] | None

    def mass(self, ranks: slice) -> float:
        """Share of the weight on `ranks`."""
        return sum(self.mean[ranks])


def learned(tower: nn.Module) -> dict[str, Pooling]:
    """The poolings of a tower that have coefficients, by module name."""
    return {
        name: module
        for name, module in tower.named_modules()
        if isinstance(module, Pooling) and hasattr(module, "coefficients")
    }


def curves(pooling: Pooling, sizes: Sequence[int]) -> list[Curve]:
    """The coefficients for sets of these sizes."""
    with torch.no_grad():
        theta: Tensor = pooling.coefficients(torch.tensor(sizes))  # type: ignore[operator]
    return [_curve(row[:size]) for row, size in zip(theta, sizes, strict=True)]


def _curve(theta: Tensor) -> Curve:
    """theta [n], or [n, D]."""
    if theta.dim() == 1:
        return Curve(len(theta), theta.tolist(), None)
    spread = theta.std(1, correction=0).tolist()
    return Curve(len(theta), theta.mean(1).tolist(), spread)


def draw(path: Path, panels: Mapping[str, Sequence[Curve]]) -> None:
    """A PNG with one panel per title and one line per size; bands are ±1 sd over dimensions."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(panels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for line in lines:
            ranks = range(1, line.size + 1)
            axis.plot(
                ranks, line.mean, marker="o", markersize=3, linewidth=1, label=f"n = {line.size}"
            )
            if line.spread is not None:
                band = list(zip(line.mean, line.spread, strict=True))
                low, high = [m - s for m, s in band], [m + s for m, s in band]
                axis.fill_between(ranks, low, high, alpha=0.15)
        axis.set(title=title, xlabel="rank, the largest value first", ylabel="coefficient")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.legend(fontsize="x-small")
    with atomic(path) as handle:
        FigureCanvasAgg(figure).print_png(handle)
