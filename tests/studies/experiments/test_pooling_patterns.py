"""Patterns against their definitions, and training with a pooling that is easy to follow."""

import math

import pytest
import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.pooling import build_pooling
from polyglance.studies.experiments.pooling_patterns import (
    RANGES,
    PatternSettings,
    measures,
    rmse,
    run,
    sorted_sets,
    train,
    true_coefficients,
)

PATTERNS = ["A", "M-1", "M-10", "T-50%", "L"]


def by_hand(pattern: str, n: int) -> list[float]:
    if pattern == "L":
        return [(n - k) / sum(range(n)) for k in range(1, n + 1)]
    half = math.floor(n / 2 + 0.5)
    count = {"A": n, "M-1": 1, "M-10": min(10, n), "T-50%": half}[pattern]
    return [1 / count] * count + [0.0] * (n - count)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_those_of_the_paper(pattern: str) -> None:
    lengths = torch.tensor([10, 2, 25, 120])
    found = true_coefficients(pattern, lengths, 120)
    for row, n in zip(found, lengths.tolist(), strict=True):
        assert row[:n].tolist() == pytest.approx(by_hand(pattern, n), abs=1e-6)
        assert not row[n:].any()


def test_ten_largest_of_ten_are_the_average() -> None:
    ten = torch.tensor([10])
    assert torch.equal(true_coefficients("M-10", ten, 10), true_coefficients("A", ten, 10))


def test_sets_are_sorted_and_normal() -> None:
    torch.manual_seed(0)
    lengths = torch.tensor([3, 50, 100])
    sets = sorted_sets(lengths, 100, 200)
    assert sets.shape == (3, 200, 100)
    for row, n in zip(sets, lengths.tolist(), strict=True):
        inside = row[:, :n]
        assert (inside[:, 1:] <= inside[:, :-1]).all()
        assert not row[:, n:].any()
        assert float(inside.mean()) == pytest.approx(0, abs=0.1)
        assert float(inside.std()) == pytest.approx(1, abs=0.1)


def test_the_error_is_by_size_then_over_sizes() -> None:
    learned = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    true = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    expected = math.sqrt(((0.25 + 0.25) / 2 + (0.0625 + 0.0625) / 3) / 2)
    assert rmse(learned, true, torch.tensor([2, 3])) == pytest.approx(expected)


class Falling(nn.Module):
    """Softmax of −slope · rank: a slope of 0 is the average, a large one the maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(0.3))

    def coefficients(self, lengths: Tensor) -> Tensor:
        rank = torch.arange(int(lengths.max()))
        scores = (-self.slope * rank).expand(len(lengths), -1)
        return scores.masked_fill(rank >= lengths.unsqueeze(1), -torch.inf).softmax(1)


@pytest.mark.parametrize(("pattern", "better"), [("A", "falls"), ("M-1", "rises")])
def test_training_goes_towards_the_pattern(pattern: str, better: str) -> None:
    torch.manual_seed(0)
    pooling = Falling()
    train(pooling, PatternSettings(pattern=pattern, steps=60, lr=0.02, batch=4, dim=4))
    change = pooling.slope.item() - 0.3
    assert change < -0.1 if better == "falls" else change > 0.1


@pytest.mark.parametrize("design", ["gpo", "gpo-index", "gpo-mlp", "gpo-interpolation"])
def test_every_design_can_be_measured(design: str) -> None:
    settings = PatternSettings(design=design, pattern="T-50%", steps=2)
    first, again = run(settings), run(settings)
    assert list(first.values) == measures(settings) == [f"{name} T-50%" for name in RANGES]
    assert all(0 < value < 1 for value in first.values.values())
    assert first == again
    assert len(first.extra["learned"]) == 50
    assert sum(first.extra["true"]) == pytest.approx(1, abs=1e-3)


def test_interpolation_starts_as_the_average() -> None:
    lengths = torch.arange(10, 20)
    learned = build_pooling("gpo-interpolation", 4).coefficients(lengths).detach()
    assert rmse(learned, true_coefficients("A", lengths, 19), lengths) < 1e-7


def test_a_pooling_without_coefficients_is_a_mistake() -> None:
    with pytest.raises(PolyglanceError, match="'max' has no coefficients"):
        run(PatternSettings(design="max", steps=1))
