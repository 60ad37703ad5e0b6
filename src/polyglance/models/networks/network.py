"""The interface of networks, and networks of two towers with one vector each."""

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
    """An image tower and a text tower, and scores of their outputs.

    Args:
        recipe: of the whole model.
        feature_dim: dimension of the images' features.
        embedder: maps words to ids; determines the text tower's first layer.
    """

    def __init__(self, recipe: Recipe, feature_dim: int, embedder: Embedder) -> None:
        super().__init__()
        self.image = ImageTower(recipe.image, feature_dim, recipe.joint.dim)
        self.text = build_text_tower(recipe, embedder)

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Any:
        """Features [B, F], or sets [B, K, F] with lengths → inputs of `scores`."""
        raise TypeError("a network defines embed_images()")

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Any:
        """Texts [B, T] of a language → inputs of `scores`."""
        raise TypeError("a network defines embed_text()")

    def observe(self, ids: Ragged, cache: Path | None = None) -> None:
        """Prepare for training, given the ids of all training captions.

        A text tower may use a cache in the folder `cache`.
        """
        self.text.observe(ids, cache)

    def image_sizes(self, lengths: np.ndarray) -> np.ndarray:
        """Sizes of the embeddings of images with `lengths` [n], if they are sets."""
        return lengths

    def text_sizes(self, lengths: np.ndarray) -> np.ndarray:
        """Sizes of the embeddings of texts with `lengths` [n] ids, if they are sets."""
        return lengths

    def scores(self, images: Any, captions: Any) -> Tensor:
        """Scores [N, M] of N images and M captions; higher is closer."""
        raise TypeError("a network defines scores()")


networks: Registry[type[Network]] = Registry("similarity")
"""By `joint.similarity.kind`."""


@networks.register("cosine")
@networks.register("order")
class TwoTower(Network):
    """Embeds images and captions as single vectors."""

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
        placed = found if self.no_imgnorm else self.to_joint_space(found)
        return placed if self.consensus is None else self.consensus.images(placed).fused

    def embed_with_vectors(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Sets [B, K, F] with lengths [B] → embeddings [B, D], and the pooled vectors [B, K, D]."""
        found, vectors = self.image.with_vectors(features, lengths)
        return found if self.no_imgnorm else self.to_joint_space(found), vectors

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Tensor:
        """Texts [B, T] of a language → embeddings [B, D]."""
        placed = self.to_joint_space(self.text(batch, language))
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
        """The levels of consensus-aware embeddings of images."""
        assert self.consensus is not None
        return self.consensus.images(self.to_joint_space(self.image(features, lengths)))

    def text_levels(self, batch: TextBatch, language: str | None = None) -> Levels:
        """The levels of consensus-aware embeddings of texts."""
        assert self.consensus is not None
        placed = self.to_joint_space(self.text(batch, language))
        return self.consensus.texts(placed, batch.ids, batch.lengths)

    def embed_with_averages(
        self, batch: TextBatch, languages: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Embeddings [B, D] of texts, and averages [B, W] of their word vectors; all normalised.

        Args:
            batch: texts of several languages.
            languages: [B], indices of their languages in alphabetical order.
            counted: [B, T] bool, words to average; all by default.
        """
        texts, averages = self.text.with_averages(batch, languages, counted)
        return self.to_joint_space(texts), l2(averages)

    def scores(self, images: Tensor, captions: Tensor) -> Tensor:
        """Embeddings [N, D], [M, D] → scores [N, M], higher is closer."""
        return tensor_scores.get(self.similarity)(images, captions)

    def to_joint_space(self, vectors: Tensor) -> Tensor:
        """Outputs of a tower [B, D] → embeddings [B, D]."""
        placed = l2(vectors)
        return placed if self.similarity == "cosine" else placed.abs()


def build_network(recipe: Recipe, feature_dim: int, embedder: Embedder) -> Network:
    """Build the network of a recipe.

    Args:
        recipe: of the model.
        feature_dim: dimension of an image feature.
        embedder: source of the text tower's word layers.
    """
    return networks.get(recipe.joint.similarity.kind)(recipe, feature_dim, embedder)


def build_text_tower(recipe: Recipe, embedder: Embedder) -> Tower:
    """One tower for all languages, one per language, or an encoder that is a complete tower."""
    if recipe.text.encoder.kind in towers:
        return towers.get(recipe.text.encoder.kind)(recipe, embedder)
    built = {
        tower: TextTower(recipe, layer, embedder.added_rows(tower, layer.dim))
        for tower, layer in embedder.layers()
    }
    return built[""] if "" in built else LanguageTowers(built, embedder.pivots)
