"""How well a pooling learns known coefficients (Chen et al. 2021, supplement §2.3, Table 6).

A generator of coefficients is trained on sets of random vectors and their pooling by a known
pattern; its coefficients are then compared with the pattern's, for sizes seen and unseen.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from polyglance.errors import PolyglanceError
from polyglance.studies.experiments.base import Experiment, Measured, Sample, Settings

if TYPE_CHECKING:
    from torch import Tensor

SEEN = (20, 100)
RANGES = {"seen": SEEN, "smaller": (10, 19), "larger": (101, 120)}
SHOWN = 50
"""The set size whose coefficients are plotted."""

ABOUT = (
    "Sets of 20 to 100 vectors with 32 normally distributed values, 16 sets per update, are pooled "
    "with the pattern's coefficients; the pooling learns these from the pooled vectors alone (mean "
    "squared error, Adam). The result is the RMSE of the coefficients over sets of 20–100 (seen), "
    "10–19 (smaller) and 101–120 vectors (larger). Patterns: A is the average, M-K the average of "
    "the K largest values, T-50% that of the larger half; L has weights that fall linearly to "
    "zero. The paper gives no training settings; ours are those of the profile."
)


class PatternSettings(Settings):
    """One pooling and one pattern."""

    design: str = Field("gpo", description="name of a pooling that has coefficients()")
    pattern: Literal["A", "M-1", "M-10", "T-50%", "L"] = "A"
    steps: int = Field(5000, ge=1)
    lr: float = Field(1e-3, gt=0)
    batch: int = Field(16, ge=1)
    dim: int = Field(32, ge=1)


def true_coefficients(pattern: str, lengths: "Tensor", size: int) -> "Tensor":
    """The pattern's coefficients [L, size]; zero past each length.

    Args:
        pattern: A, M-1, M-10, T-50% or L.
        lengths: of the sets [L].
        size: columns of the result, at least the longest length.

    >>> import torch
    >>> true_coefficients("L", torch.tensor([2, 3]), 3)
    tensor([[1.0000, 0.0000, 0.0000],
            [0.6667, 0.3333, 0.0000]])
    """
    import torch

    rank, n = torch.arange(1, size + 1), lengths.unsqueeze(1)
    if pattern == "L":
        weights = (n - rank).clamp(min=0).float()
    else:
        # Half of an odd size is rounded up.
        counts = {"A": n, "M-1": n.clamp(max=1), "M-10": n.clamp(max=10), "T-50%": (n + 1) // 2}
        weights = (rank <= counts[pattern]).float()
    return weights / weights.sum(1, keepdim=True)


def measures(settings: PatternSettings) -> list[str]:
    """ "seen A", "smaller A", "larger A" """
    return [f"{name} {settings.pattern}" for name in RANGES]


def run(settings: PatternSettings) -> Measured:
    """Train and compare."""
    import torch

    from polyglance.pooling import build_pooling

    torch.manual_seed(settings.seed)
    pooling: Any = build_pooling(settings.design, settings.dim)
    if not hasattr(pooling, "coefficients"):
        raise PolyglanceError(f"the pooling '{settings.design}' has no coefficients by size")
    train(pooling, settings)
    values = {}
    pooling.eval()
    with torch.no_grad():
        for name, (low, high) in RANGES.items():
            lengths = torch.arange(low, high + 1)
            learned = pooling.coefficients(lengths)
            true = true_coefficients(settings.pattern, lengths, high)
            values[f"{name} {settings.pattern}"] = rmse(learned, true, lengths)
        shown = torch.tensor([SHOWN])
        pair = pooling.coefficients(shown), true_coefficients(settings.pattern, shown, SHOWN)
    drawn = [[round(value, 5) for value in part[0].tolist()] for part in pair]
    return Measured(values, {"learned": drawn[0], "true": drawn[1]})


def train(pooling: Any, settings: PatternSettings) -> None:
    """Fit a module with `coefficients(lengths [L]) -> [L, max]`.

    The difference between its pooled vectors and the true ones is the sorted features times the
    difference of coefficients, so neither needs to be pooled.
    """
    import torch

    from polyglance.core.progress import track

    optimizer = torch.optim.Adam(pooling.parameters(), lr=settings.lr)
    pooling.train()
    for _ in track(range(settings.steps), settings.pattern, settings.steps, "steps"):
        lengths = torch.randint(SEEN[0], SEEN[1] + 1, (settings.batch,))
        size = int(lengths.max())
        ordered = sorted_sets(lengths, size, settings.dim)
        gap = pooling.coefficients(lengths) - true_coefficients(settings.pattern, lengths, size)
        loss = (ordered @ gap.unsqueeze(2)).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def sorted_sets(lengths: "Tensor", size: int, dim: int) -> "Tensor":
    """Normal features [B, dim, size], sorted in descending order in every dimension, 0-padded.

    NumPy sorts twenty times faster than PyTorch here; it sorts ascending, so the values are
    negated, which leaves the distribution unchanged.

    Args:
        lengths: of the sets [B].
        size: positions of a set, at least the longest length.
        dim: dimension of the features.
    """
    import numpy as np
    import torch

    outside = (torch.arange(size) >= lengths.unsqueeze(1)).unsqueeze(1)
    opposites = torch.randn(len(lengths), dim, size).masked_fill_(outside, torch.inf)
    return torch.from_numpy(-np.sort(opposites.numpy(), axis=2)).masked_fill_(outside, 0.0)


def rmse(learned: "Tensor", true: "Tensor", lengths: "Tensor") -> float:
    """Root of the mean, over sizes, of the mean squared error over positions.

    Args:
        learned: coefficients [L, max].
        true: the pattern's [L, max].
        lengths: sizes [L].
    """
    inside = (learned - true).square().sum(1) / lengths
    return float(inside.mean().sqrt())


def draw(samples: Sequence[Sample]) -> tuple[str, Any]:
    """Learned and true coefficients, designs by patterns."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(sample.row for sample in samples))
    patterns = list(dict.fromkeys(sample.settings.pattern for sample in samples))
    figure = Figure(
        figsize=(2.3 * len(patterns) + 0.8, 1.7 * len(rows) + 0.8), layout="constrained"
    )
    grid = figure.subplots(len(rows), len(patterns), squeeze=False, sharex=True, sharey="col")
    for sample in samples:
        axes = grid[rows.index(sample.row)][patterns.index(sample.settings.pattern)]
        ranks = range(1, len(sample.extra["true"]) + 1)
        axes.plot(ranks, sample.extra["true"], color="#999999", linewidth=3, label="true")
        axes.plot(ranks, sample.extra["learned"], color="#0072B2", linewidth=1.3, label="learned")
    for place, pattern in enumerate(patterns):
        grid[0][place].set_title(pattern, fontsize=10)
        grid[-1][place].set_xlabel("rank")
    for place, row in enumerate(rows):
        grid[place][0].set_ylabel(row, fontsize=9)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return f"Coefficients of sets of {SHOWN}, learned (first seed) and true", figure


EXPERIMENT = Experiment(PatternSettings, measures, run, ABOUT, draw=draw)
