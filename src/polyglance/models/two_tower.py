"""Two towers that meet in one space."""

from collections.abc import Mapping

from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.models.similarity import SCORES, l2
from polyglance.recipes import Recipe
from polyglance.text.tower import build_text_tower
from polyglance.vision.tower import ImageTower


class TwoTower(nn.Module):
    """An image tower and a text tower with a similarity.

    `vocabulary` is the number of words, or that of each language for separate text towers.
    """

    def __init__(
        self, recipe: Recipe, feature_dim: int, vocabulary: int | Mapping[str, int]
    ) -> None:
        super().__init__()
        self.similarity = recipe.joint.similarity
        self.image = ImageTower(recipe.image, feature_dim, recipe.joint.dim)
        sizes = {"": vocabulary} if isinstance(vocabulary, int) else vocabulary
        self.text = build_text_tower(recipe.text, sizes, recipe.joint.dim)
        if self.text.size != recipe.joint.dim:
            raise PolyglanceError(
                f"recipe {recipe.name}: the text tower gives {self.text.size} numbers and "
                f"joint.dim is {recipe.joint.dim}; make them equal or set text.projection=true"
            )

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
