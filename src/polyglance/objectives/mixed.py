"""LIWE's mixed loss, which moves gradually from all negatives to the hardest.

Wehrmann et al. 2019, Eq. 4–5.
"""

import torch
from torch import Tensor

from polyglance.objectives.hinge import hinge_costs
from polyglance.objectives.objective import SumHinge, objectives
from polyglance.recipes.schema import MixedHingeRecipe

EPSILON = 0.991
"""For captions against images (supplement §1); the code has 0.91 for captions against captions."""


def hard_weight(step: int, epsilon: float = EPSILON) -> float:
    """k_t = 1 − ε^t, the weight of the hardest negatives at update t from 1 (LIWE).

    >>> [round(hard_weight(t), 3) for t in (10, 50, 100, 250, 500)]
    [0.086, 0.364, 0.595, 0.896, 0.989]
    """
    return 1 - epsilon**step


def mixed_hinges(
    scores: Tensor,
    margin: float = 0.2,
    step: int = 1,
    epsilon: float = EPSILON,
    ignore: Tensor | None = None,
) -> Tensor:
    """(1 − k_t) · sum of hinges + k_t · max of hinges. Summed over the batch.

    Args:
        scores: [B, B], S[i, j] = s(image_i, caption_j); positives on the diagonal.
        margin: by how much a positive must exceed a negative.
        step: the update t, from 1.
        epsilon: ε of `hard_weight`.
        ignore: [B, B] bool, pairs that are not negatives; the diagonal never is.

    >>> round(float(mixed_hinges(torch.zeros(2, 2), step=7)), 3)
    0.8
    """
    captions, images = hinge_costs(scores, margin, ignore)
    every = captions.sum() + images.sum()
    hardest = captions.amax(1).sum() + images.amax(0).sum()
    return torch.lerp(every, hardest, hard_weight(step, epsilon))


@objectives.register("mixed-hinge")
class MixedHinge(SumHinge):
    """LIWE's loss; t counts updates (`advance`) and is saved in checkpoints.

    Captions against captions use another instance, with its own ε and count. The authors' code
    also counts evaluations; this does not, since the loss would then depend on how often a run is
    evaluated. Warm-up updates use all negatives and are not counted.

    >>> loss = MixedHinge(MixedHingeRecipe(margin=0.5, epsilon=0.5))
    >>> loss.advance()
    >>> float(loss(torch.zeros(3, 3), torch.arange(3)))  # half of 6 and half of 3
    4.5
    """

    recipe: MixedHingeRecipe
    step: Tensor

    def __init__(self, recipe: MixedHingeRecipe, epsilon: float | None = None) -> None:
        super().__init__(recipe)
        self.epsilon = recipe.epsilon if epsilon is None else epsilon
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def advance(self) -> None:
        self.step += 1

    def for_captions(self) -> "MixedHinge":
        return MixedHinge(self.recipe, self.recipe.epsilon_c2c)

    def loss(self, scores: Tensor, ignore: Tensor | None, warming_up: bool) -> Tensor:
        if warming_up:
            return super().loss(scores, ignore, warming_up)
        step = max(int(self.step), 1)
        total = mixed_hinges(scores, self.recipe.margin, step, self.epsilon, ignore)
        return self._reduce(total, len(scores))
