"""Models of few words, with random weights."""

from collections.abc import Sequence

import torch

from polyglance.models import Model
from polyglance.recipes import Recipe
from polyglance.text.embedders import TableEmbedder, Vocabulary


def table_embedder(recipe: Recipe, words: Sequence[str] | int) -> TableEmbedder:
    """The words, or so many with `<pad>` and its like: of all languages, or of "en" alone."""
    if isinstance(words, int):
        words = [f"w{i}" for i in range(4, words)]
    tower = "" if recipe.text.towers == "shared" else "en"
    return TableEmbedder(recipe, {tower: Vocabulary(words)})


def table_model(
    recipe: Recipe, words: Sequence[str], feature_dim: int = 16, languages: Sequence[str] = ("en",)
) -> Model:
    """A model of these words; the same weights every time."""
    torch.manual_seed(0)
    return Model(recipe, table_embedder(recipe, words), feature_dim, languages)
