"""LIWE's mixed loss: golden weights, its ends, and that it resumes where it was."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.objectives import (
    build_objective,
    hard_weight,
    max_of_hinges,
    mixed_hinges,
    sum_of_hinges,
)
from polyglance.objectives.mixed import MixedHinge
from polyglance.recipes.schema import InfoNceRecipe, MixedHingeRecipe

SCORES = torch.tensor([[0.9, 0.8, 0.85], [0.3, 0.8, 0.7], [0.1, 0.6, 0.5]])
IMAGE = torch.tensor([0, 1, 1])
RECIPE = MixedHingeRecipe()


@pytest.mark.parametrize(
    ("epsilon", "step", "weight"),
    [
        *[(0.991, t, k) for t, k in [(10, 0.086), (50, 0.364), (100, 0.595)]],
        *[(0.991, t, k) for t, k in [(250, 0.896), (500, 0.989)]],
        *[(0.91, t, k) for t, k in [(10, 0.611), (50, 0.991)]],
    ],
)
def test_golden_weights(epsilon: float, step: int, weight: float) -> None:
    assert round(hard_weight(step, epsilon), 3) == weight


def test_half_way_where_the_specification_says() -> None:
    assert hard_weight(76) < 0.5 <= hard_weight(77)
    assert hard_weight(7, 0.91) == pytest.approx(0.5, abs=0.05)


@given(st.integers(1, 2000), st.floats(0.5, 0.999), st.integers(2, 6), st.integers(0, 999))
def test_mixes_the_two_losses(step: int, epsilon: float, batch: int, seed: int) -> None:
    scores = torch.randn(batch, batch, generator=torch.Generator().manual_seed(seed))
    ignore = torch.rand(batch, batch, generator=torch.Generator().manual_seed(seed)) < 0.3
    k = 1 - epsilon**step
    every, hardest = sum_of_hinges(scores, 0.3, ignore), max_of_hinges(scores, 0.3, ignore)
    expected = (1 - k) * float(every) + k * float(hardest)
    assert float(mixed_hinges(scores, 0.3, step, epsilon, ignore)) == pytest.approx(
        expected, rel=1e-4, abs=1e-5
    )


def test_updates_count_and_losses_do_not() -> None:
    objective = build_objective(RECIPE)
    objective.advance()
    first = objective(SCORES, IMAGE)
    assert float(first) == pytest.approx(float(mixed_hinges(SCORES, step=1)))
    objective.collapsed_value(8)
    assert float(objective(SCORES, IMAGE)) == float(first)
    objective.advance()
    second = objective(SCORES, IMAGE)
    assert float(second) == pytest.approx(float(mixed_hinges(SCORES, step=2)))
    assert float(second) != float(first)


def test_warming_up_uses_all_negatives_and_starts_no_clock() -> None:
    objective = build_objective(RECIPE)
    warm = float(objective(SCORES, IMAGE, True))
    assert warm == pytest.approx(float(sum_of_hinges(SCORES)))
    assert int(objective.state_dict()["step"]) == 0


def test_a_checkpoint_resumes_the_step() -> None:
    objective = build_objective(RECIPE)
    for _ in range(100):
        objective.advance()
    again = build_objective(RECIPE)
    again.load_state_dict(objective.state_dict())
    assert float(again(SCORES, IMAGE)) == float(mixed_hinges(SCORES, step=100))
    again.advance()
    assert int(again.state_dict()["step"]) == 101
    # A float32 would stop at 2²⁴ updates.
    assert again.state_dict()["step"].dtype == torch.int64


def test_captions_have_a_count_and_an_epsilon_of_their_own() -> None:
    objective = build_objective(RECIPE)
    captions = objective.for_captions()
    captions.advance()
    assert float(captions(SCORES, IMAGE)) == float(mixed_hinges(SCORES, step=1, epsilon=0.91))
    assert int(objective.state_dict()["step"]) == 0
    shared = build_objective(InfoNceRecipe())
    assert shared.for_captions() is shared


def test_reduction_mask_and_own_epsilon() -> None:
    mean = build_objective(RECIPE.model_copy(update={"reduction": "mean"}))
    assert float(mean(SCORES, IMAGE)) == pytest.approx(float(mixed_hinges(SCORES)) / 3)
    masked = build_objective(RECIPE.model_copy(update={"mask_same_image": True}))
    same = IMAGE[:, None] == IMAGE[None, :]
    assert float(masked(SCORES, IMAGE)) == pytest.approx(float(mixed_hinges(SCORES, ignore=same)))
    captions = MixedHinge(RECIPE, epsilon=0.91)
    assert float(captions(SCORES, IMAGE)) == pytest.approx(
        float(mixed_hinges(SCORES, epsilon=0.91))
    )


def test_the_collapsed_value_follows_the_step() -> None:
    objective = build_objective(RECIPE)
    objective.advance()
    k = hard_weight(1)
    every, hardest = 2 * 0.2 * 128 * 127, 51.2
    value = (1 - k) * every + k * hardest
    assert objective.collapsed_value(128) == pytest.approx(value, rel=1e-4)
    assert objective.collapsed_value(128, True) == pytest.approx(every, rel=1e-4)
