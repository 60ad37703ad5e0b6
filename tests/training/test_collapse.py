"""Noticing a collapse: so many updates in a row, no fewer."""

import pytest

from polyglance.recipes.schema import InfoNceRecipe, MaxHingeRecipe
from polyglance.training.collapse import FLAT, NEAR, CollapseDetector, collapse_error


def test_only_updates_in_a_row_count() -> None:
    detector = CollapseDetector(patience=3)
    flat, fine = (12.8, 12.8, 0.0), (6.0, 12.8, 0.3)
    updates = [flat, flat, fine, flat, flat, flat, flat, fine]
    assert [detector.update(*one) for one in updates] == [
        *[False] * 5,
        *[True, True],
        False,
    ]


@pytest.mark.parametrize(
    ("loss", "deviation", "collapsed"),
    [
        (10.0, 0.0, True),
        (10.0 * (1 + NEAR) - 1e-9, 0.0, True),
        (10.0 * (1 - NEAR) + 1e-9, FLAT / 2, True),
        (10.0 * (1 + 2 * NEAR), 0.0, False),
        (10.0 * (1 - 2 * NEAR), 0.0, False),
        (10.0, FLAT, False),
    ],
)
def test_both_the_loss_and_the_scores_decide(
    loss: float, deviation: float, collapsed: bool
) -> None:
    assert CollapseDetector(patience=1).update(loss, 10.0, deviation) == collapsed


def test_the_remedy_is_more_of_the_recipes_own_warm_up() -> None:
    def told(recipe: MaxHingeRecipe | InfoNceRecipe) -> str:
        return str(collapse_error(1.0, 1.0, 300, recipe))

    assert "--set loss.warmup_epochs=1)" in told(MaxHingeRecipe())
    assert "--set loss.warmup_epochs=8)" in told(MaxHingeRecipe(warmup_epochs=2))
    assert "--set loss.warmup_updates=40)" in told(MaxHingeRecipe(warmup_updates=10))
    assert "all negatives" not in told(InfoNceRecipe())
