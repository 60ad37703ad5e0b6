"""Objectives: a loss with its settings and, if it has any, parameters."""

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.objectives.hinge import max_of_hinges, sum_of_hinges
from polyglance.objectives.infonce import info_nce
from polyglance.recipes.schema import HingeRecipe, InfoNceRecipe, LossRecipe

SMALLEST_TEMPERATURE = 0.01
"""CLIP bounds 1/temperature by 100 (Radford et al. 2021, §2.5)."""


class Objective(nn.Module):
    """Maps a batch's scores [B, B] to a loss.

    A subclass defines `loss`. With `mask_same_image`, pairs of the same image are not negatives.

    >>> from polyglance.recipes.schema import SumHingeRecipe
    >>> class Negatives(Objective):
    ...     def loss(self, scores, ignore, warming_up):
    ...         return scores.masked_fill(ignore, 0).sum()
    ...
    >>> objective = Negatives(SumHingeRecipe(mask_same_image=True))
    >>> scores = torch.tensor([[9.0, 1.0], [2.0, 9.0]])
    >>> [float(objective(scores, torch.tensor(images))) for images in ([5, 6], [5, 5])]
    [3.0, 0.0]
    """

    def __init__(self, recipe: LossRecipe) -> None:
        super().__init__()
        self.recipe = recipe

    def forward(self, scores: Tensor, image: Tensor, warming_up: bool = False) -> Tensor:
        """The loss of a batch.

        Args:
            scores: [B, B], of images (rows) with captions (columns); positives on the diagonal.
            image: [B], the image of each row and column.
            warming_up: whether to use all negatives instead of the hardest.
        """
        ignore = same_image(image) if self.recipe.mask_same_image else None
        return self.loss(scores, ignore, warming_up)

    def loss(self, scores: Tensor, ignore: Tensor | None, warming_up: bool) -> Tensor:
        """The loss, given which pairs are negatives.

        Args:
            scores: [B, B], as in `forward`.
            ignore: [B, B] bool, pairs that are not negatives; None if all are.
            warming_up: as in `forward`.
        """
        raise TypeError("an objective defines loss()")

    def advance(self) -> None:
        """Called once before the losses of every update that is not warming up."""

    def for_captions(self) -> "Objective":
        """The objective for captions against captions: this one, unless it has its own state."""
        return self

    def collapsed_value(self, batch: int, warming_up: bool = False) -> float:
        """The loss of `batch` pairs when all scores are equal."""
        own = next(chain(self.parameters(), self.buffers()), None)
        device = None if own is None else own.device
        equal = torch.zeros(batch, batch, device=device)
        with torch.no_grad():
            return float(self(equal, torch.arange(batch, device=device), warming_up))


objectives: Registry[Callable[[Any], Objective]] = Registry("loss")


def build_objective(recipe: LossRecipe) -> Objective:
    """The objective of a recipe's loss section.

    >>> from polyglance.recipes.schema import MaxHingeRecipe
    >>> objective = build_objective(MaxHingeRecipe(margin=0.5))
    >>> scores = torch.tensor([[0.9, 0.6], [0.3, 0.8]])
    >>> round(float(objective(scores, torch.arange(2))), 4)  # 0.2 for an image, 0.3 for a caption
    0.5
    """
    return objectives.get(recipe.kind)(recipe)


def same_image(image: Tensor) -> Tensor:
    """[B, B] bool: pairs of rows and columns with the same image.

    >>> same_image(torch.tensor([7, 8, 7])).int().tolist()
    [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    """
    return image[:, None] == image[None, :]


@objectives.register("sum-hinge")
class SumHinge(Objective):
    """VSE0, and the warm-up of other losses.

    >>> from polyglance.recipes.schema import SumHingeRecipe
    >>> float(SumHinge(SumHingeRecipe(margin=0.5))(torch.zeros(3, 3), torch.arange(3)))
    6.0
    """

    recipe: HingeRecipe

    def loss(self, scores: Tensor, ignore: Tensor | None, warming_up: bool) -> Tensor:
        return self._reduce(sum_of_hinges(scores, self.recipe.margin, ignore), len(scores))

    def _reduce(self, total: Tensor, batch: int) -> Tensor:
        return total if self.recipe.reduction == "sum" else total / batch


@objectives.register("max-hinge")
class MaxHinge(SumHinge):
    """VSE++; uses all negatives while warming up.

    >>> from polyglance.recipes.schema import MaxHingeRecipe
    >>> loss, batch = MaxHinge(MaxHingeRecipe(margin=0.5)), (torch.zeros(3, 3), torch.arange(3))
    >>> float(loss(*batch)), float(loss(*batch, warming_up=True))
    (3.0, 6.0)
    """

    def loss(self, scores: Tensor, ignore: Tensor | None, warming_up: bool) -> Tensor:
        if warming_up:
            return super().loss(scores, ignore, warming_up)
        return self._reduce(max_of_hinges(scores, self.recipe.margin, ignore), len(scores))


@objectives.register("infonce")
class InfoNCE(Objective):
    """Symmetric softmax with a learned temperature.

    >>> loss = InfoNCE(InfoNceRecipe(temperature=0.5))
    >>> round(loss(torch.eye(2), torch.arange(2)).item(), 4)  # log(1 + e^-2)
    0.1269
    """

    def __init__(self, recipe: InfoNceRecipe) -> None:
        super().__init__(recipe)
        start = torch.tensor(math.log(recipe.temperature))
        self.log_temperature = nn.Parameter(start, requires_grad=recipe.learn_temperature)

    def loss(self, scores: Tensor, ignore: Tensor | None, warming_up: bool) -> Tensor:
        temperature = self.log_temperature.exp().clamp(min=SMALLEST_TEMPERATURE)
        return info_nce(scores, temperature, ignore)
