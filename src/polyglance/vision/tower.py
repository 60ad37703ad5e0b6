"""The image tower: precomputed features → the joint space."""

import math

import torch
from torch import Tensor, nn

from polyglance.pooling import build_pooling
from polyglance.recipes.schema import ImageRecipe


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """Linear with weights U(−r, r), r = √6/√(in+out), and zero bias (spec §2.2)."""
    layer = nn.Linear(inputs, outputs)
    bound = math.sqrt(6.0) / math.sqrt(inputs + outputs)
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.zeros_(layer.bias)
    return layer


class ImageTower(nn.Module):
    """A head on every vector, then a pooling where an image is a set of vectors."""

    mean: Tensor
    scale: Tensor

    def __init__(self, recipe: ImageRecipe, feature_dim: int, dim: int) -> None:
        super().__init__()
        self.feature_dim = feature_dim
        self.register_buffer("mean", torch.zeros(feature_dim))
        self.register_buffer("scale", torch.ones(()))
        self.dropout = nn.Dropout(recipe.dropout)
        self.head = self._head(recipe, feature_dim, dim)
        self.pooling = build_pooling(recipe.pooling, dim)

    @staticmethod
    def _head(recipe: ImageRecipe, feature_dim: int, dim: int) -> nn.Module:
        if recipe.head == "linear":
            return xavier_linear(feature_dim, dim)
        return nn.Sequential(
            nn.Linear(feature_dim, recipe.hidden),
            nn.GELU(),
            nn.Dropout(recipe.dropout),
            nn.Linear(recipe.hidden, dim),
        )

    def standardise(self, mean: Tensor, deviation: Tensor) -> None:
        """Centre by `mean` [F] and divide by the average of `deviation` [F] from now on."""
        self.mean.copy_(mean)
        self.scale.copy_(deviation.mean().clamp(min=1e-6))

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """features [B, F], or sets [B, K, F] with lengths [B] → [B, D], not normalised."""
        vectors = self.head(self.dropout((features - self.mean) / self.scale))
        return vectors if lengths is None else self.pooling(vectors, lengths)
