"""What all networks are: an image tower, a text tower, and a score of what they give."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from polyglance.recipes import Recipe
from polyglance.text.added_words import AddedReader
from polyglance.text.closed import ClosedVocabularies
from polyglance.text.reader import Reader
from polyglance.text.spellings import Spellings
from polyglance.text.tower import (
    LanguageTowers,
    TextTower,
    add_languages,
    build_text_tower,
    build_universal_tower,
)
from polyglance.text.transformer import TransformerTower
from polyglance.text.translated_words import TranslatedWords
from polyglance.text.vector_words import VectorReader
from polyglance.vision.tower import ImageTower


class Network(nn.Module):
    """An image tower and a text tower into one space.

    `vocabulary` is the number of words, or that of each language for separate text towers; spelt
    words need the reader itself.
    """

    def __init__(
        self, recipe: Recipe, feature_dim: int, vocabulary: int | Mapping[str, int] | Reader
    ) -> None:
        super().__init__()
        self.image = ImageTower(recipe.image, feature_dim, recipe.joint.dim)
        self.text = _text_tower(recipe, vocabulary)

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Any:
        """Features [B, F], or sets [B, K, F] with lengths → what `scores` takes."""
        raise TypeError("a network defines embed_images()")

    def embed_text(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Any:
        """Word ids [B, T] of a language with lengths → what `scores` takes."""
        raise TypeError("a network defines embed_text()")

    def scores(self, images: Any, captions: Any) -> Tensor:
        """Of N images with M captions, [N, M]; higher is closer."""
        raise TypeError("a network defines scores()")


def _text_tower(
    recipe: Recipe, vocabulary: int | Mapping[str, int] | Reader
) -> TextTower | LanguageTowers | TransformerTower:
    if isinstance(vocabulary, AddedReader):
        tower = _text_tower(recipe, vocabulary.base)
        assert not isinstance(tower, TransformerTower)
        add_languages(tower, vocabulary)
        return tower
    if isinstance(vocabulary, VectorReader):
        layer = TranslatedWords(vocabulary)
        return TextTower(recipe.text, layer, recipe.joint.dim, compat=recipe.compat)
    if isinstance(vocabulary, ClosedVocabularies):
        return build_universal_tower(recipe, vocabulary, recipe.joint.dim)
    sizes = {"": vocabulary} if isinstance(vocabulary, int) else vocabulary
    if isinstance(sizes, Reader) and not isinstance(sizes, Spellings):
        sizes = sizes.sizes(recipe.augment.word_drop > 0)
    return build_text_tower(recipe.text, sizes, recipe.joint.dim, recipe.compat)
