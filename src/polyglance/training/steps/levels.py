"""The loss of consensus-aware embeddings (CVSE): matching at every level, and agreement."""

from torch import Tensor
from torch.nn import functional

from polyglance.models.networks.consensus import Levels
from polyglance.objectives.objective import Objective
from polyglance.recipes.schema import ConsensusRecipe


def agreement(images: Tensor, texts: Tensor) -> Tensor:
    """KL(texts ‖ images) of concept shares [B, C], summed over the batch."""
    return functional.kl_div(images.clamp(min=1e-12).log(), texts, reduction="sum")


def match_levels(
    images: Levels,
    texts: Levels,
    image: Tensor,
    objective: Objective,
    warming_up: bool,
    recipe: ConsensusRecipe,
) -> tuple[Tensor, Tensor, float]:
    """The loss, the fused scores [B, B], and the loss of a collapsed model.

    Args:
        images: of a batch.
        texts: of their captions.
        image: [B], the image of each pair.
        objective: on a score matrix.
        warming_up: whether all negatives count.
        recipe: the weights of the levels.
    """
    fused = images.fused @ texts.fused.t()
    weighted = (
        (recipe.fused_weight, fused),
        (recipe.instance_weight, images.instance @ texts.instance.t()),
        (recipe.consensus_weight, images.consensus @ texts.consensus.t()),
    )
    agree = recipe.agreement_weight * agreement(images.shares, texts.shares)
    loss = agree
    for weight, scores in weighted:
        loss = loss + weight * objective(scores, image, warming_up)
    equal = objective.collapsed_value(len(fused), warming_up) * sum(w for w, _ in weighted)
    return loss, fused, equal + float(agree.detach())
