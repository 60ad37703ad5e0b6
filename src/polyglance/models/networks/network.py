"""Networks: an image tower, a text tower, and a score of what they give; two towers that meet."""

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.models.networks.consensus import Consensus, Levels
from polyglance.models.networks.similarity import l2, tensor_scores
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import OrderRecipe, Recipe
from polyglance.text.embedders import Embedder, TextBatch
from polyglance.text.embedders.table import TableEmbedder
from polyglance.text.embedders.table_layer import WordTable
from polyglance.text.encoders import LanguageTowers, TextTower, Tower, towers
from polyglance.vision.tower import ImageTower


class Network(nn.Module):
    """An image tower and a text tower into one space."""

    def __init__(self, recipe: Recipe, feature_dim: int, embedder: Embedder) -> None:
        super().__init__()
        self.image = ImageTower(recipe.image, feature_dim, recipe.joint.dim)
        self.text = build_text_tower(recipe, embedder)

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Any:
        """Features [B, F], or sets [B, K, F] with lengths → what `scores` takes."""
        raise TypeError("a network defines embed_images()")

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Any:
        """Texts [B, T] of a language → what `scores` takes."""
        raise TypeError("a network defines embed_text()")

    def observe(self, ids: Ragged, cache: Path | None = None) -> None:
        """Learn from the ids of all training captions before training; most do not.

        A text tower may keep what it computes in the folder `cache`.
        """
        self.text.observe(ids, cache)

    def image_sizes(self, lengths: np.ndarray) -> np.ndarray:
        """Vectors of the sets that images of `lengths` [n] become, where they become sets."""
        return lengths

    def text_sizes(self, lengths: np.ndarray) -> np.ndarray:
        """The same of texts of `lengths` [n] ids."""
        return lengths

    def scores(self, images: Any, captions: Any) -> Tensor:
        """Of N images with M captions, [N, M]; higher is closer."""
        raise TypeError("a network defines scores()")


networks: Registry[type[Network]] = Registry("similarity")
"""By `joint.similarity.kind`."""


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
        self.consensus: Consensus | None = None
        if recipe.consensus is not None:
            assert isinstance(embedder, TableEmbedder)
            self.consensus = Consensus(recipe.consensus, recipe.joint.dim, embedder)

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Features [B, F], or sets [B, K, F] with lengths → embeddings [B, D]."""
        found = self.image(features, lengths)
        placed = found if self.no_imgnorm else self.place(found)
        return placed if self.consensus is None else self.consensus.images(placed).fused

    def embed_with_vectors(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Sets [B, K, F] with lengths [B] → embeddings [B, D], and what they pool [B, K, D]."""
        found, vectors = self.image.with_vectors(features, lengths)
        return found if self.no_imgnorm else self.place(found), vectors

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Tensor:
        """Texts [B, T] of a language → embeddings [B, D]."""
        placed = self.place(self.text(batch, language))
        if self.consensus is None:
            return placed
        return self.consensus.texts(placed, batch.ids, batch.lengths).fused

    def observe(self, ids: Ragged, cache: Path | None = None) -> None:
        super().observe(ids, cache)
        if self.consensus is not None:
            words = self.text.word_layers()[0]
            assert isinstance(words, WordTable)
            self.consensus.observe(ids, words.weight)

    def image_levels(self, features: Tensor, lengths: Tensor | None = None) -> Levels:
        """What a consensus-aware embedding of images is made of."""
        assert self.consensus is not None
        return self.consensus.images(self.place(self.image(features, lengths)))

    def text_levels(self, batch: TextBatch, language: str | None = None) -> Levels:
        """The same of texts."""
        assert self.consensus is not None
        placed = self.place(self.text(batch, language))
        return self.consensus.texts(placed, batch.ids, batch.lengths)

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
        return self.place(texts), l2(averages)

    def scores(self, images: Tensor, captions: Tensor) -> Tensor:
        """Embeddings [N, D], [M, D] → scores [N, M], higher is closer."""
        return tensor_scores.get(self.similarity)(images, captions)

    def place(self, vectors: Tensor) -> Tensor:
        """What a tower gives [B, D] → embeddings [B, D]."""
        placed = l2(vectors)
        return placed if self.similarity == "cosine" else placed.abs()


def build_network(recipe: Recipe, feature_dim: int, embedder: Embedder) -> Network:
    """The network that a recipe describes.

    Args:
        recipe: of the model.
        feature_dim: dimension of an image feature.
        embedder: gives the text tower its word layers.
    """
    return networks.get(recipe.joint.similarity.kind)(recipe, feature_dim, embedder)


def build_text_tower(recipe: Recipe, embedder: Embedder) -> Tower:
    """One tower for all languages, one for each, or an encoder that is a tower of its own."""
    if recipe.text.encoder.kind in towers:
        return towers.get(recipe.text.encoder.kind)(recipe, embedder)
    built = {
        tower: TextTower(recipe, layer, embedder.added_rows(tower, layer.dim))
        for tower, layer in embedder.layers()
    }
    return built[""] if "" in built else LanguageTowers(built, embedder.pivots)
