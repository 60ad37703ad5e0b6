"""Two towers that meet in one space."""

from collections.abc import Mapping

from torch import Tensor

from polyglance.models.network import Network
from polyglance.models.similarity import SCORES, l2
from polyglance.recipes import Recipe
from polyglance.text.reader import Reader


class TwoTower(Network):
    """Images and captions become points, compared by a similarity."""

    def __init__(
        self, recipe: Recipe, feature_dim: int, vocabulary: int | Mapping[str, int] | Reader
    ) -> None:
        super().__init__(recipe, feature_dim, vocabulary)
        self.similarity = recipe.joint.similarity

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Features [B, F], or sets [B, K, F] with lengths → points [B, D] of the space."""
        return self._place(self.image(features, lengths))

    def embed_text(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """Word ids [B, T] of a language with lengths → points [B, D] of the space."""
        return self._place(self.text(ids, lengths, language))

    def scores(self, images: Tensor, captions: Tensor) -> Tensor:
        """Points [N, D], [M, D] → scores [N, M], higher is closer."""
        return SCORES[self.similarity](images, captions)

    def _place(self, vectors: Tensor) -> Tensor:
        placed = l2(vectors)
        return placed if self.similarity == "cosine" else placed.abs()
