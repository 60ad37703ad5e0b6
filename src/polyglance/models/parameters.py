"""How many parameters a network has, and a recipe's would have."""

import torch

from polyglance.errors import PolyglanceError
from polyglance.models.networks.network import Network, build_network
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
    # The meta device has no memory.
    with torch.device("meta"):
        return _count_trained(build_network(recipe, feature_dim, embedder))


def parameters_by_part(network: Network) -> dict[str, int]:
    """Trained parameters of each part; `frozen`, where there are any, are pretrained ones."""
    text = network.text
    layers = text.word_layers()
    image, total = _count_trained(network.image), _count_trained(network)
    words, all_text = sum(map(_count_trained, layers)), _count_trained(text)
    rest = total - image - all_text
    frozen = sum(p.numel() for p in network.parameters() if not p.requires_grad)
    frozen += sum(getattr(layer, "fixed", 0) for layer in layers)
    frozen += network.image.fixed
    parts = {"image": image, "words": words, "text": all_text - words}
    parts |= {"attention": rest} if rest else {}
    parts |= {"frozen": frozen} if frozen else {}
    return {**parts, "all": total}


def _count_trained(module: torch.nn.Module) -> int:
    return sum(part.numel() for part in module.parameters() if part.requires_grad)
