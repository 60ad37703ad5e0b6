"""Detection of collapse: every pair gets the same score, and the gradient vanishes."""

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import LossRecipe, WarmedRecipe

NEAR = 0.02
"""Relative tolerance between the loss and that of equal scores."""

FLAT = 0.01
"""Standard deviation below which scores count as equal."""


class CollapseDetector:
    """Counts consecutive updates whose loss is that of equal scores.

    Max-of-hinges from a cold start often stays at 2·α·B, sometimes forever.
    """

    def __init__(self, patience: int = 300) -> None:
        self.patience = patience
        self.count = 0

    def update(self, loss: float, collapsed: float, deviation: float) -> bool:
        """Whether the last `patience` updates, including this one, were all collapsed.

        Args:
            loss: of the update.
            collapsed: the loss if all scores were equal.
            deviation: standard deviation of the update's scores.
        """
        flat = deviation < FLAT and abs(loss - collapsed) <= NEAR * max(abs(collapsed), 1e-12)
        self.count = self.count + 1 if flat else 0
        return self.count >= self.patience


def collapse_error(
    loss: float, collapsed: float, updates: int, recipe: LossRecipe
) -> PolyglanceError:
    """The error message; a longer warm-up, if the recipe has one, is the first remedy.

    Args:
        loss: of the last update.
        collapsed: the loss if all scores were equal.
        updates: number of collapsed updates so far.
        recipe: of the loss.
    """
    remedy = ""
    if isinstance(recipe, WarmedRecipe):
        longer = f"warmup_epochs={max(1, 4 * recipe.warmup_epochs)}"
        if recipe.warmup_updates:
            longer = f"warmup_updates={4 * recipe.warmup_updates}"
        remedy = f"start with all negatives, or for longer (--set loss.{longer}), "
    return PolyglanceError(
        f"training has collapsed: for {updates} updates the loss ({loss:.2f}) has been that of a "
        f"model that gives every pair the same score ({collapsed:.2f}); {remedy}use "
        "--set loss.kind=infonce, or lower training.lr; --set training.collapse=warn continues "
        "regardless"
    )
