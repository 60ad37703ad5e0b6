"""Two towers that meet in one space."""

from collections.abc import Mapping

from torch import Tensor

from polyglance.models.network import Network
from polyglance.models.similarity import SCORES, l2
from polyglance.recipes import Recipe
from polyglance.recipes.schema import OrderRecipe
from polyglance.text.reader import Reader
from polyglance.text.transformer import TransformerTower


class TwoTower(Network):
    """Images and captions become points, compared by a similarity."""

    def __init__(
        self, recipe: Recipe, feature_dim: int, vocabulary: int | Mapping[str, int] | Reader
    ) -> None:
        super().__init__(recipe, feature_dim, vocabulary)
        similarity = recipe.joint.similarity
        squared = isinstance(similarity, OrderRecipe) and similarity.squared
        self.similarity = "order-squared" if squared else similarity.kind
        self.no_imgnorm = recipe.compat.no_imgnorm

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Features [B, F], or sets [B, K, F] with lengths → points [B, D] of the space."""
        found = self.image(features, lengths)
        return found if self.no_imgnorm else self._place(found)

    def embed_text(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """Word ids [B, T] of a language with lengths → points [B, D] of the space."""
        return self._place(self.text(ids, lengths, language))

    def read_text(
        self, ids: Tensor, lengths: Tensor, speakers: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Points [B, D] of texts of several languages, and averages [B, W] of their words.

        All are normalised. `speakers` [B] number the languages in alphabetical order; averages
        are over the words `counted` [B, T], all by default.
        """
        assert not isinstance(self.text, TransformerTower)
        texts, averages = self.text.read(ids, lengths, speakers, counted)
        return self._place(texts), l2(averages)

    def scores(self, images: Tensor, captions: Tensor) -> Tensor:
        """Points [N, D], [M, D] → scores [N, M], higher is closer."""
        return SCORES[self.similarity](images, captions)

    def _place(self, vectors: Tensor) -> Tensor:
        placed = l2(vectors)
        return placed if self.similarity == "cosine" else placed.abs()
