"""Attention between the vectors of two sets, for all pairs of sets (SCAN, §3.1).

Queries [Q, q, D] attend to contexts [C, c, D]; similarities are [C, c, Q, q]. The attended vector
is a weighted sum a = Σ w_k c_k. Its cosine with the query needs no vector of dimension D per pair:
q·a = Σ w_k (q·c_k), and ‖a‖² = wᵀGw with the context's Gram matrix G.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from polyglance.models.networks.similarity import EPSILON


class Sets(NamedTuple):
    """Sets of vectors: `vectors` [B, K, D], of which those past `lengths` [B] ≥ 1 are ignored."""

    vectors: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """[B, K] bool, which vectors are valid."""
        places = torch.arange(self.vectors.shape[1], device=self.vectors.device)
        return places < self.lengths.unsqueeze(1)

    def cleared(self) -> "Sets":
        """The sets with padding set to 0."""
        return Sets(self.vectors.masked_fill(~self.mask.unsqueeze(2), 0), self.lengths)

    def take(self, rows: Tensor) -> "Sets":
        """The sets `rows` [b], trimmed to the largest of them."""
        lengths = self.lengths[rows]
        return Sets(self.vectors[rows, : int(lengths.max())], lengths)


def similarities(queries: Sets, contexts: Sets) -> Tensor:
    """Dot products of all pairs of vectors, [C, c, Q, q]."""
    products = contexts.vectors.flatten(0, 1) @ queries.vectors.flatten(0, 1).t()
    return products.view(*contexts.vectors.shape[:2], *queries.vectors.shape[:2])


def attention_weights(products: Tensor, contexts: Sets, smooth: float) -> Tensor:
    """Softmax over the context of clipped, normalised products, [C, c, Q, q] (clipped_l2norm).

    The norm is over the query axis.

    Args:
        products: [C, c, Q, q], dot products; 0 for padding.
        contexts: that are attended to.
        smooth: inverse temperature of the softmax.
    """
    clipped = functional.leaky_relu(products, 0.1)
    normed = clipped / (clipped.norm(dim=3, keepdim=True) + EPSILON)
    outside = ~contexts.mask[:, :, None, None]
    return (smooth * normed).masked_fill(outside, -torch.inf).softmax(1)


def attended_cosines(weights: Tensor, products: Tensor, queries: Sets, contexts: Sets) -> Tensor:
    """Cosine of every query vector with its attended vector, [C, Q, q].

    Args:
        weights: [C, c, Q, q], attention of each query vector to each context vector.
        products: [C, c, Q, q], dot products.
        queries: that attend.
        contexts: that are attended to.
    """
    gram = contexts.vectors @ contexts.vectors.transpose(1, 2)  # [C, c, c]
    flat = weights.flatten(2)  # [C, c, Q·q]
    squared = (flat * (gram @ flat)).sum(1).view_as(weights[:, 0])
    # By rounding, a square can be below 0, where the root has no gradient.
    length = squared.clamp(min=EPSILON**2).sqrt() * queries.vectors.norm(dim=2)
    return (weights * products).sum(1) / length.clamp(min=EPSILON)


def mean_over(values: Tensor, queries: Sets) -> Tensor:
    """Mean over valid query vectors: [C, Q, q] → [C, Q]."""
    return values.masked_fill(~queries.mask, 0).sum(2) / queries.lengths


def lse_over(values: Tensor, queries: Sets, inverse_temperature: float) -> Tensor:
    """LogSumExp, a soft maximum that grows with the number of queries: [C, Q].

    Args:
        values: [C, Q, q], one per query vector.
        queries: whose padding is ignored.
        inverse_temperature: the larger, the closer to the maximum.
    """
    scaled = (inverse_temperature * values).masked_fill(~queries.mask, -torch.inf)
    return scaled.logsumexp(2) / inverse_temperature
