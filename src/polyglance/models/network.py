"""What all networks are: an image tower, a text tower, and a score of what they give."""

from typing import Any

from torch import Tensor, nn

from polyglance.recipes.schema import Recipe
from polyglance.registry import Registry
from polyglance.text.embedders import Embedder, TextBatch
from polyglance.text.encoders import LanguageTowers, TextTower, Tower, TransformerTower
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

    def scores(self, images: Any, captions: Any) -> Tensor:
        """Of N images with M captions, [N, M]; higher is closer."""
        raise TypeError("a network defines scores()")


networks: Registry[type[Network]] = Registry("similarity")
"""By `joint.similarity.kind`."""


def build_network(recipe: Recipe, feature_dim: int, embedder: Embedder) -> Network:
    """The network that a recipe describes.

    Args:
        recipe: of the model.
        feature_dim: dimension of an image feature.
        embedder: gives the text tower its word layers.
    """
    return networks.get(recipe.joint.similarity.kind)(recipe, feature_dim, embedder)


def build_text_tower(recipe: Recipe, embedder: Embedder) -> Tower:
    """One tower for all languages, one for each, or a pretrained transformer."""
    if recipe.text.encoder.kind == "transformer":
        return TransformerTower(recipe.text, recipe.joint.dim)
    towers = {
        tower: TextTower(recipe, layer, embedder.added_rows(tower, layer.dim))
        for tower, layer in embedder.layers()
    }
    return towers[""] if "" in towers else LanguageTowers(towers, embedder.pivots)
