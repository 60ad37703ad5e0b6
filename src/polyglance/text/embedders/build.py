"""The embedder that a recipe needs."""

from pathlib import Path

from polyglance.recipes.schema import Recipe
from polyglance.text.embedders.added import FILE as ADDED
from polyglance.text.embedders.added import AddedEmbedder
from polyglance.text.embedders.base import Embedder, TrainingTexts, embedders


def build_embedder(recipe: Recipe, texts: TrainingTexts) -> Embedder:
    """A fresh embedder, from the captions that a model will be trained on."""
    return embedders.get(recipe.text.embedder.kind).build(recipe, texts)


def load_embedder(recipe: Recipe, folder: Path) -> Embedder:
    """The embedder of a saved model."""
    if (folder / ADDED).is_file():
        return AddedEmbedder.load(recipe, folder)
    return embedders.get(recipe.text.embedder.kind).load(recipe, folder)
