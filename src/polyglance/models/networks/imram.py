"""IMRAM: iterative attention with a memory that refines the query (Chen et al. 2020, §3)."""

import torch
from torch import Tensor, nn

from polyglance.models.networks.attention import (
    Sets,
    attended_cosines,
    attention_weights,
    mean_over,
    similarities,
)
from polyglance.numerics.products import Linear, linear
from polyglance.recipes.schema import ImramRecipe


class Memory(nn.Module):
    """q ← g⊙q + (1−g)⊙tanh(W[q; a]) with g = σ(W'[q; a])."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.update = Linear(2 * dim, dim)
        self.gate = Linear(2 * dim, dim)

    def forward(self, queries: Tensor, weights: Tensor, contexts: Tensor) -> Tensor:
        """Refined queries, [C, n, D].

        Since a is linear in the context, the context is projected instead, once for all queries.

        Args:
            queries: [1 or C, n, D], current queries.
            weights: [C, c, n], attention of each query to each context vector.
            contexts: [C, c, D], that are attended to.
        """
        dim = queries.shape[2]
        matrix = torch.cat([self.gate.weight, self.update.weight])
        bias = torch.cat([self.gate.bias, self.update.bias])
        own = linear(queries, matrix[:, :dim], bias)
        attended = weights.transpose(1, 2) @ linear(contexts, matrix[:, dim:])
        gate, update = (own + attended).chunk(2, 2)
        return torch.lerp(update.tanh(), queries.expand_as(update), gate.sigmoid())


def imram_scores(
    queries: Sets, contexts: Sets, memory: Memory, smooth: float = 9.0, steps: int = 3
) -> Tensor:
    """Scores [C, Q]: the sum of the mean cosines over the steps.

    As in the official code, attention uses the refined query, the cosine the original one.

    Args:
        queries: that attend.
        contexts: that are attended to.
        memory: refines the queries between steps.
        smooth: inverse temperature of the attention.
        steps: number of steps.
    """
    queries, contexts = queries.cleared(), contexts.cleared()
    products = similarities(queries, contexts)
    weights = attention_weights(products, contexts, smooth)
    scores = mean_over(attended_cosines(weights, products, queries, contexts), queries)
    refined = queries.vectors.flatten(0, 1).unsqueeze(0)  # [1, Q·q, D]
    outside = ~queries.mask.flatten()[None, :, None]
    for _ in range(steps - 1):
        refined = memory(refined, weights.flatten(2), contexts.vectors).masked_fill(outside, 0)
        attending = (contexts.vectors @ refined.transpose(1, 2)).view_as(products)
        weights = attention_weights(attending, contexts, smooth)
        cosines = attended_cosines(weights, products, queries, contexts)
        scores = scores + mean_over(cosines, queries)
    return scores


class Imram(nn.Module):
    """IMRAM in one direction, with the settings of a recipe and its own memory."""

    def __init__(self, recipe: ImramRecipe, dim: int) -> None:
        super().__init__()
        self.smooth, self.steps = recipe.smooth, recipe.steps
        self.memory = Memory(dim)

    def forward(self, queries: Sets, contexts: Sets) -> Tensor:
        """Scores [C, Q]."""
        return imram_scores(queries, contexts, self.memory, self.smooth, self.steps)

    def floats_per_pair(self, queries: Sets, contexts: Sets) -> int:
        """Floats in memory for one pair of sets."""
        width = max(contexts.vectors.shape[1], 4 * queries.vectors.shape[2])
        return queries.vectors.shape[1] * width
