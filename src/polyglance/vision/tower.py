"""The image tower: from features, precomputed or computed in it, to the joint space."""

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.pooling import build_pooling, valid
from polyglance.recipes.schema import ImageRecipe
from polyglance.recipes.schema.recipe import one_vector
from polyglance.vision.heads import build_head
from polyglance.vision.image_network import build_image_network
from polyglance.vision.mixture import build_mixture
from polyglance.vision.set_attention import SetAttention


class ImageTower(nn.Module):
    """A head on every vector, then a pooling if an image is a set of vectors.

    Args:
        recipe: of the image tower.
        feature_dim: F, dimension of a feature.
        dim: D, of the joint space.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, recipe: ImageRecipe, feature_dim: int, dim: int) -> None:
        super().__init__()
        self.feature, self.feature_dim = recipe.feature, feature_dim
        self.standardised = recipe.standardise
        self.unit = recipe.unit
        self.register_buffer("mean", torch.zeros(feature_dim))
        self.register_buffer("scale", torch.ones(()))
        # EmbN's branch drops hidden units only.
        self.dropout = nn.Dropout(0.0 if recipe.head.kind == "bn-mlp" else recipe.dropout)
        self.attention = SetAttention(feature_dim) if recipe.attention else None
        self.head = build_head(recipe.head, feature_dim, dim, recipe.dropout)
        self.classes = build_mixture(recipe.head, feature_dim, dim)
        self.activation = nn.LeakyReLU(0.1) if recipe.activation == "leaky-relu" else nn.Identity()
        self.output_dropout = nn.Dropout(recipe.output_dropout)
        self.normalise = recipe.normalise
        self.pooling = build_pooling(recipe.pooling, dim)
        self.backbone = build_image_network(recipe)

    @property
    def fixed(self) -> int:
        """Number of parameters of a pretrained network that are not trained."""
        return (
            0 if self.classes is None else self.classes.weight.numel() + self.classes.bias.numel()
        )

    def standardise(self, mean: Tensor, deviation: Tensor) -> None:
        """Centre by `mean` [F] and divide by the average of `deviation` [F] from now on."""
        self.mean.copy_(mean)
        self.scale.copy_(deviation.mean().clamp(min=1e-6))

    def vectors(self, features: Tensor, lengths: Tensor, head: nn.Module | None = None) -> Tensor:
        """Sets [B, K, F] with lengths [B] → [B, K, D], padded with 0.

        Args:
            features: [B, K, F].
            lengths: [B] ≥ 1.
            head: used instead of the tower's own.
        """
        mask = valid(features, lengths)
        if self.attention is not None:
            features = self.attention(self._prepare(features), mask)
        if torch.jit.is_tracing():
            every = self._embed(features.flatten(0, 1)).view(mask.shape[0], mask.shape[1], -1)
            return every.masked_fill(~mask.unsqueeze(2), 0)
        if bool(mask.all()):
            return self._embed(features.flatten(0, 1), head).unflatten(0, mask.shape)
        # Copying rows by a flat index is twice as fast as by a mask.
        rows = mask.flatten().nonzero().squeeze(1)
        found = self._embed(features.flatten(0, 1).index_select(0, rows), head)
        padded = found.new_zeros(mask.numel(), found.shape[1])
        return padded.index_copy(0, rows, found).unflatten(0, mask.shape)

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """features [B, F], or sets [B, K, F] with lengths [B] → [B, D], not normalised."""
        if lengths is None:
            if self.attention is not None:
                raise PolyglanceError(one_vector("image.attention", self.feature))
            return self._project(self._prepare(features), features)
        return self.pooling(self.vectors(features, lengths), lengths)

    def with_vectors(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Sets [B, K, F] with lengths [B] → [B, D], and the vectors [B, K, D] of the pooling."""
        return self.pooling.with_vectors(self.vectors(features, lengths), lengths)

    def _embed(self, vectors: Tensor, head: nn.Module | None = None) -> Tensor:
        """Vectors [n, F] of sets (already prepared if there is an attention) → [n, D]."""
        prepared = vectors if self.attention is not None else self._prepare(vectors)
        embedded = self._project(prepared, vectors, head)
        return nn.functional.normalize(embedded, dim=-1, eps=1e-8) if self.normalise else embedded

    def _prepare(self, vectors: Tensor) -> Tensor:
        """Features [..., F] scaled according to the recipe."""
        if self.standardised:
            vectors = (vectors - self.mean) / self.scale
        return nn.functional.normalize(vectors, dim=-1, eps=1e-8) if self.unit else vectors

    def _project(self, vectors: Tensor, extracted: Tensor, head: nn.Module | None = None) -> Tensor:
        """Prepared vectors [n, F], and the same vectors as extracted → [n, D]."""
        found = (self.head if head is None else head)(self.dropout(vectors))
        if self.classes is not None:
            found = found + self.classes(extracted)
        return self.output_dropout(self.activation(found))
