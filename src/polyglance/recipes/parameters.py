"""How large a recipe's network is, by arithmetic: importing torch takes seconds."""

from itertools import pairwise

from polyglance.recipes.schema import (
    AttentionRecipe,
    ImageRecipe,
    Recipe,
    TextRecipe,
    UniversalRecipe,
)

WORDS, FEATURES, CHARACTERS, VECTORS = 10_000, 1280, 101, 300
"""Sizes of the vocabulary, of an image feature, of the alphabet (that of LIWE's authors) and of a
pretrained word vector for which parameters are counted."""

POOLINGS = {
    "attention": (0, 10, 6),
    "fspool": (0, 21, 0),
    "gcn-mean": (0, 24, 16),
    "gcn-seq2seq": (0, 30, 22),
    "gem": (1, 0, 0),
    "gpo": (12_704, 0, 0),
    "gpo-features": (18_880, 32, 0),
    "gpo-index": (20_896, 0, 0),
    "gpo-interpolation": (20, 0, 0),
    "gpo-mlp": (1_088, 0, 0),
    "gpo-per-dimension": (12_672, 32, 0),
    "gpo-transformer": (8_576, 0, 0),
    "seq2seq": (0, 6, 6),
}
"""(a, b, c) of the a + b·D + c·D² parameters over vectors of size D; others have none."""


def count_parameters(
    recipe: Recipe, words: int | None = None, features: int = FEATURES
) -> int | None:
    """Trainable numbers of the recipe's towers; None if they depend on a pretrained encoder.

    `words` are the characters of the alphabet where words are spelt.
    """
    if recipe.text.in_pieces:
        return None
    if words is None:
        words = CHARACTERS if recipe.text.spells else WORDS
    dim = recipe.joint.dim
    image = _head(recipe.image, features, dim) + pooling_parameters(recipe.image.pooling, dim)
    if recipe.text.embedder == "universal":
        size = recipe.text.words
        text = _text(recipe.text, 0, dim) + _universal(recipe.universal, words, size)
        text += size if recipe.constraints.masking or recipe.augment.words else 0  # the mask
    else:
        text = _text(recipe.text, words, dim)
    return image + text + _attention(recipe.attention, dim)


def pooling_parameters(name: str, dim: int) -> int:
    """Trainable numbers of a pooling over vectors of size `dim`."""
    constant, linear, square = POOLINGS.get(name, (0, 0, 0))
    return constant + linear * dim + square * dim * dim


def _head(image: ImageRecipe, features: int, dim: int) -> int:
    straight, bent = _layers(features, dim), _layers(features, image.hidden, dim)
    norm = 2 * image.hidden
    sizes = {"linear": straight, "mlp": bent, "residual-mlp": straight + bent + norm}
    return {**sizes, "bn-mlp": bent + norm}[image.head] + _set_attention(image, features)


def _set_attention(image: ImageRecipe, features: int) -> int:
    """Queries and keys of an eighth, values, γ."""
    if not image.attention:
        return 0
    return 2 * _layers(features, features // 8) + _layers(features, features) + 1


def _text(text: TextRecipe, words: int, dim: int) -> int:
    directions = 2 if text.encoder == "bigru" else 1
    size = text.hidden * (directions if text.directions == "concatenate" else 1)
    inputs = text.words + (VECTORS if text.vectors and text.spells else 0)
    total = directions * _gru(inputs, text.hidden, text.biases)
    if text.encoder == "attention":
        total = _self_attention(text)
    total += _words(text, words) + pooling_parameters(text.pooling, size)
    return total + (_layers(size, dim) if text.projection else 0)


def _words(text: TextRecipe, count: int) -> int:
    """The word table, or the characters and what makes words of them; fixed vectors are none."""
    if text.embedder == "vectors":
        return 0
    if not text.spells:
        return count * text.words
    characters = count * text.characters
    if text.embedder == "chargru":
        return characters + _gru(text.characters, text.words)
    sizes = (text.word_length * text.characters, *text.layers, text.words)
    # Beside its bias, a layer has weight norm's scale and batch norm's two numbers an output.
    return characters + _layers(*sizes) + 3 * sum(sizes[1:])


def _universal(universal: UniversalRecipe, words: int, size: int) -> int:
    """Own vectors with the language's layer, and latent tokens for the other words."""
    own = words if universal.frequent is None else min(universal.frequent, words)
    latent = min(universal.latent, words - own) if universal.rare == "latent" else 0
    return own * universal.dim + (_layers(universal.dim, size) if own else 0) + latent * size


def _self_attention(text: TextRecipe) -> int:
    wide, norm = text.heads * text.head_size, 2 * text.words
    return (
        _layers(text.words, 3 * wide)
        + _layers(wide, text.words)
        + norm
        + _layers(text.words, text.hidden, text.hidden)
    )


def _gru(inputs: int, hidden: int, biases: int = 2) -> int:
    """Three gates, each with weights for the input and the state, and biases."""
    return 3 * hidden * (inputs + hidden + biases)


def _layers(*sizes: int) -> int:
    return sum(a * b + b for a, b in pairwise(sizes))


def _attention(attention: AttentionRecipe, dim: int) -> int:
    """A memory's two layers, for each direction of imram."""
    if attention.matching != "imram":
        return 0
    return (2 if attention.direction == "both" else 1) * 2 * _layers(2 * dim, dim)
