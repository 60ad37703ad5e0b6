"""How large a recipe's network is: built on the meta device, which has no memory."""

import torch

from polyglance.errors import PolyglanceError
from polyglance.models.model import Model
from polyglance.recipes.schema import CharacterEmbedderRecipe, Recipe
from polyglance.text.embedders import embedders

WORDS, FEATURES, CHARACTERS = 10_000, 1280, 101
"""Sizes of the vocabulary, of an image feature and of the alphabet (that of LIWE's authors) for
which parameters are counted."""


def count_parameters(
    recipe: Recipe, words: int | None = None, feature_dim: int = FEATURES
) -> int | None:
    """Trained parameters of a recipe's network.

    Args:
        recipe: the system.
        words: of the vocabulary, or characters of the alphabet.
        feature_dim: dimension of an image feature.

    Returns:
        Their number, of one language where each has a tower of its own; None where it depends on
        a pretrained encoder.
    """
    if words is None:
        spelt = isinstance(recipe.text.embedder, CharacterEmbedderRecipe)
        words = CHARACTERS if spelt else WORDS
    shared = recipe.text.model_copy(update={"towers": "shared"})
    recipe = recipe.model_copy(update={"text": shared})
    try:
        embedder = embedders.get(recipe.text.embedder.kind).blank(recipe, words)
    except PolyglanceError:
        return None
    with torch.device("meta"):
        return Model(recipe, embedder, feature_dim, ["xx"]).parameters()["all"]
