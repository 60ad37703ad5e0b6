"""How large a recipe's network is, by arithmetic: importing torch takes seconds."""

from itertools import pairwise

from polyglance.recipes.schema import (
    BiGruRecipe,
    CharacterEmbedderRecipe,
    EmbedderRecipe,
    ImageRecipe,
    ImramRecipe,
    LatentRare,
    LinearHead,
    LiweEmbedderRecipe,
    Recipe,
    SelfAttentionRecipe,
    SimilarityRecipe,
    TableEmbedderRecipe,
    TextRecipe,
    TransformerEmbedderRecipe,
    TransformerRecipe,
    TupleSampling,
    UniversalEmbedderRecipe,
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
    embedder, encoder = recipe.text.embedder, recipe.text.encoder
    if isinstance(embedder, TransformerEmbedderRecipe) or isinstance(encoder, TransformerRecipe):
        return None
    if words is None:
        words = CHARACTERS if isinstance(embedder, CharacterEmbedderRecipe) else WORDS
    dim = recipe.joint.dim
    image = _head(recipe.image, features, dim) + pooling_parameters(recipe.image.pooling, dim)
    text = _text(recipe.text, words, dim)
    if isinstance(embedder, TableEmbedderRecipe | UniversalEmbedderRecipe):
        sampling, own = recipe.sampling, isinstance(embedder, UniversalEmbedderRecipe)
        masks = own and isinstance(sampling, TupleSampling) and sampling.masking_weight > 0
        text += embedder.word_dim if masks or recipe.augment.word_drop else 0  # the mask
    return image + text + _attention(recipe.joint.similarity, dim)


def pooling_parameters(name: str, dim: int) -> int:
    """Trainable numbers of a pooling over vectors of size `dim`."""
    constant, linear, square = POOLINGS.get(name, (0, 0, 0))
    return constant + linear * dim + square * dim * dim


def _head(image: ImageRecipe, features: int, dim: int) -> int:
    attention, straight = _set_attention(image, features), _layers(features, dim)
    if isinstance(image.head, LinearHead):
        return straight + attention
    hidden, kind = image.head.hidden, image.head.kind
    norm = 0 if kind == "mlp" else 2 * hidden
    beside = straight if kind == "residual-mlp" else 0
    return _layers(features, hidden, dim) + norm + beside + attention


def _set_attention(image: ImageRecipe, features: int) -> int:
    """Queries and keys of an eighth, values, γ."""
    if not image.attention:
        return 0
    return 2 * _layers(features, features // 8) + _layers(features, features) + 1


def _text(text: TextRecipe, words: int, dim: int) -> int:
    encoder, inputs = text.encoder, _word_dim(text.embedder)
    assert not isinstance(encoder, TransformerRecipe)
    if isinstance(encoder, SelfAttentionRecipe):
        total = _self_attention(encoder, inputs)
    else:
        directions = 2 if isinstance(encoder, BiGruRecipe) else 1
        total = directions * _gru(inputs, encoder.hidden, encoder.biases)
    total += _words(text.embedder, words) + pooling_parameters(text.pooling, encoder.dim)
    return total + (_layers(encoder.dim, dim) if text.projection else 0)


def _word_dim(embedder: EmbedderRecipe) -> int:
    beside = isinstance(embedder, CharacterEmbedderRecipe) and embedder.vectors
    return int(getattr(embedder, "word_dim", 0)) + (VECTORS if beside else 0)


def _words(embedder: EmbedderRecipe, count: int) -> int:
    """The word table, or the characters and what makes words of them; fixed vectors are none."""
    if isinstance(embedder, UniversalEmbedderRecipe):
        return _universal(embedder, count)
    if isinstance(embedder, TableEmbedderRecipe):
        return count * embedder.word_dim
    if not isinstance(embedder, CharacterEmbedderRecipe):
        return 0
    characters = count * embedder.char_dim
    if not isinstance(embedder, LiweEmbedderRecipe):
        return characters + _gru(embedder.char_dim, embedder.word_dim)
    sizes = (embedder.word_length * embedder.char_dim, *embedder.layers, embedder.word_dim)
    # Beside its bias, a layer has weight norm's scale and batch norm's two numbers an output.
    return characters + _layers(*sizes) + 3 * sum(sizes[1:])


def _universal(embedder: UniversalEmbedderRecipe, words: int) -> int:
    """Own vectors with the language's layer, and latent tokens for the other words."""
    size, rare = embedder.word_dim, embedder.rare
    own = words if embedder.frequent is None else min(embedder.frequent, words)
    latent = min(rare.tokens, words - own) if isinstance(rare, LatentRare) else 0
    layer = _layers(embedder.own_dim, size) if own else 0
    return own * embedder.own_dim + layer + latent * size


def _self_attention(encoder: SelfAttentionRecipe, inputs: int) -> int:
    wide, norm = encoder.heads * encoder.head_dim, 2 * inputs
    return (
        _layers(inputs, 3 * wide)
        + _layers(wide, inputs)
        + norm
        + _layers(inputs, encoder.hidden, encoder.hidden)
    )


def _gru(inputs: int, hidden: int, biases: int = 2) -> int:
    """Three gates, each with weights for the input and the state, and biases."""
    return 3 * hidden * (inputs + hidden + biases)


def _layers(*sizes: int) -> int:
    return sum(a * b + b for a, b in pairwise(sizes))


def _attention(similarity: SimilarityRecipe, dim: int) -> int:
    """A memory's two layers, for each direction of imram."""
    if not isinstance(similarity, ImramRecipe):
        return 0
    return (2 if similarity.direction == "both" else 1) * 2 * _layers(2 * dim, dim)
