"""Two towers that meet in one space."""

from torch import Tensor

from polyglance.models.network import Network, networks
from polyglance.models.similarity import l2, tensor_scores
from polyglance.recipes.schema import OrderRecipe, Recipe
from polyglance.text.embedders import Embedder, TextBatch


@networks.register("cosine")
@networks.register("order")
class TwoTower(Network):
    """Images and captions become vectors, compared by a similarity."""

    def __init__(self, recipe: Recipe, feature_dim: int, embedder: Embedder) -> None:
        super().__init__(recipe, feature_dim, embedder)
        similarity = recipe.joint.similarity
        self.similarity: str = similarity.kind
        if isinstance(similarity, OrderRecipe) and similarity.squared:
            self.similarity = "order-squared"
        self.no_imgnorm = recipe.compat.no_imgnorm

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Features [B, F], or sets [B, K, F] with lengths → embeddings [B, D]."""
        found = self.image(features, lengths)
        return found if self.no_imgnorm else self._place(found)

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Tensor:
        """Texts [B, T] of a language → embeddings [B, D]."""
        return self._place(self.text(batch, language))

    def embed_with_averages(
        self, batch: TextBatch, languages: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Embeddings [B, D] of texts, and averages [B, W] of their word vectors; all normalised.

        Args:
            batch: texts of several languages.
            languages: [B], numbers of their languages in alphabetical order.
            counted: [B, T] bool, the words that averages are over; all by default.
        """
        texts, averages = self.text.with_averages(batch, languages, counted)
        return self._place(texts), l2(averages)

    def scores(self, images: Tensor, captions: Tensor) -> Tensor:
        """Embeddings [N, D], [M, D] → scores [N, M], higher is closer."""
        return tensor_scores.get(self.similarity)(images, captions)

    def _place(self, vectors: Tensor) -> Tensor:
        placed = l2(vectors)
        return placed if self.similarity == "cosine" else placed.abs()
