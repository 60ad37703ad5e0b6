"""SCAN: compares every query vector with its attended vector (Lee et al. 2018, §3.2)."""

from torch import Tensor, nn

from polyglance.models.networks.attention import (
    Sets,
    attended_cosines,
    attention_weights,
    lse_over,
    mean_over,
    similarities,
)
from polyglance.recipes.schema import ScanRecipe


def scan_scores(
    queries: Sets, contexts: Sets, smooth: float = 9.0, lse: float | None = None
) -> Tensor:
    """Scores [C, Q]: the mean of the cosines, or their LogSumExp.

    Captions as queries to images are SCAN t2i; images as queries to captions are SCAN i2t.

    Args:
        queries: that attend.
        contexts: that are attended to.
        smooth: inverse temperature of the attention.
        lse: inverse temperature of the LogSumExp; None for the mean.
    """
    queries, contexts = queries.cleared(), contexts.cleared()
    products = similarities(queries, contexts)
    weights = attention_weights(products, contexts, smooth)
    cosines = attended_cosines(weights, products, queries, contexts)
    return mean_over(cosines, queries) if lse is None else lse_over(cosines, queries, lse)


class Scan(nn.Module):
    """SCAN in one direction, with the settings of a recipe; it has no parameters."""

    def __init__(self, recipe: ScanRecipe, dim: int) -> None:
        super().__init__()
        self.smooth = recipe.smooth
        self.lse = recipe.lse

    def forward(self, queries: Sets, contexts: Sets) -> Tensor:
        """Scores [C, Q]."""
        return scan_scores(queries, contexts, self.smooth, self.lse)

    def floats_per_pair(self, queries: Sets, contexts: Sets) -> int:
        """Floats in memory for one pair of sets."""
        return queries.vectors.shape[1] * contexts.vectors.shape[1]
