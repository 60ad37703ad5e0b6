"""Objectives as recipes name them."""

import math

import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.objectives import build_objective, info_nce, max_of_hinges, sum_of_hinges
from polyglance.objectives.objective import Objective
from polyglance.recipes.schema import (
    AnyLossRecipe,
    InfoNceRecipe,
    LossRecipe,
    MaxHingeRecipe,
    SumHingeRecipe,
    variants_of,
)

SCORES = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.7], [0.1, 0.6, 0.5]])
IMAGE = torch.tensor([0, 1, 1])


def test_info_nce_by_hand() -> None:
    logits = (SCORES / 0.1).tolist()
    rows = [-math.log(math.exp(r[i]) / sum(map(math.exp, r))) for i, r in enumerate(logits)]
    columns = [list(c) for c in zip(*logits, strict=True)]
    down = [-math.log(math.exp(c[i]) / sum(map(math.exp, c))) for i, c in enumerate(columns)]
    expected = (sum(rows) / 3 + sum(down) / 3) / 2
    assert float(info_nce(SCORES, 0.1)) == pytest.approx(expected, rel=1e-5)


def test_same_image_pairs_are_no_negatives() -> None:
    masked = build_objective(InfoNceRecipe(mask_same_image=True, temperature=0.1))
    pair = SCORES[:2, :2]
    alone = build_objective(MaxHingeRecipe(mask_same_image=True))
    assert float(alone(pair, torch.tensor([4, 4]), 0)) == 0.0
    assert float(masked(SCORES, IMAGE).detach()) < float(info_nce(SCORES, 0.1))


def test_max_hinge_warms_up_with_all_negatives() -> None:
    objective = build_objective(MaxHingeRecipe())
    assert float(objective(SCORES, IMAGE, True)) == pytest.approx(float(sum_of_hinges(SCORES)))
    assert float(objective(SCORES, IMAGE, False)) == pytest.approx(float(max_of_hinges(SCORES)))


def test_mean_reduction_divides_by_the_batch() -> None:
    total = build_objective(SumHingeRecipe())(SCORES, IMAGE)
    mean = build_objective(SumHingeRecipe(reduction="mean"))(SCORES, IMAGE)
    assert float(mean) == pytest.approx(float(total) / 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [("max-hinge", 51.2), ("sum-hinge", 2 * 0.2 * 128 * 127), ("infonce", math.log(128))],
)
def test_collapsed_values(name: str, value: float) -> None:
    objective = build_objective(variants_of(AnyLossRecipe)[name]())
    assert objective.collapsed_value(128) == pytest.approx(value, rel=1e-4)


def test_the_temperature_learns_unless_it_is_fixed() -> None:
    learned = build_objective(InfoNceRecipe())
    fixed = build_objective(InfoNceRecipe(learn_temperature=False))
    assert [p.requires_grad for p in learned.parameters()] == [True]
    assert [p.requires_grad for p in fixed.parameters()] == [False]


def test_an_unknown_loss_names_the_nearest() -> None:
    with pytest.raises(PolyglanceError, match=r"loss 'max-hing'.*did you mean 'max-hinge'"):
        build_objective(LossRecipe(kind="max-hing"))


def test_an_objective_without_a_loss_says_so() -> None:
    with pytest.raises(TypeError, match="defines loss"):
        Objective(MaxHingeRecipe())(SCORES, IMAGE)
