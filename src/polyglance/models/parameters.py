"""Counts the parameters of a network, or of a recipe."""

import torch

from polyglance.errors import PolyglanceError
from polyglance.models.networks.network import Network, build_network
from polyglance.recipes.schema import CharacterEmbedderRecipe, Recipe
from polyglance.text.embedders import embedders

WORDS, FEATURES, CHARACTERS = 10_000, 1280, 101
"""Default sizes of the vocabulary, an image feature and the alphabet (LIWE's) for counting."""


def count_parameters(
    recipe: Recipe, words: int | None = None, feature_dim: int = FEATURES
) -> int | None:
    """Number of trained parameters of a recipe's network.

    Args:
        recipe: the system.
        words: size of the vocabulary or alphabet.
        feature_dim: dimension of an image feature.

    Returns:
        The number, for one language if each has its own tower; None if it depends on a pretrained
        encoder.
    """
    parts = count_parts(recipe, words, feature_dim)
    return None if parts is None else parts["all"]


def count_parts(
    recipe: Recipe, words: int | None = None, feature_dim: int = FEATURES
) -> dict[str, int] | None:
    """The same for each part of the network, as `parameters_by_part`.

    Args:
        recipe: the system.
        words: size of the vocabulary or alphabet.
        feature_dim: dimension of an image feature.
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
    # The meta device allocates no memory.
    with torch.device("meta"):
        return parameters_by_part(build_network(recipe, feature_dim, embedder))


def parameters_by_part(network: Network) -> dict[str, int]:
    """Number of trained parameters of each part; `frozen`, if any, are pretrained ones."""
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
