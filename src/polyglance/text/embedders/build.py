"""The reader that a recipe needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyglance.recipes.schema import TextRecipe
from polyglance.text.embedders.added import load_added
from polyglance.text.embedders.universal.embedder import ClosedVocabularies
from polyglance.text.embedders.transformer import Pieces
from polyglance.text.embedders.pretrained import encoder_folder
from polyglance.text.embedders.base import Reader
from polyglance.text.embedders.characters.embedder import Spellings
from polyglance.text.embedders.fixed.embedder import VectorReader
from polyglance.text.embedders.table import Vocabularies


def build_reader(recipe: TextRecipe, words: Mapping[str, Sequence[Sequence[str]]]) -> Reader:
    """Of training words by language: a vocabulary, their characters, or the encoder's pieces.

    Universal words, which need vectors, are made by `training.universal`, and fixed vectors by
    `training.vectors`.
    """
    if recipe.in_pieces:
        return Pieces.open(encoder_folder(recipe))
    if recipe.spells:
        return Spellings.build(recipe, words)
    return Vocabularies.build(recipe, words)


def load_reader(recipe: TextRecipe, model: Path) -> Reader:
    """The reader of a saved model, whose recipe is `located` there."""
    return load_added(_load(recipe, model), model)


def _load(recipe: TextRecipe, model: Path) -> Reader:
    if recipe.in_pieces:
        return Pieces.open(encoder_folder(recipe))
    if recipe.embedder == "universal":
        return ClosedVocabularies.load(model)
    if recipe.embedder == "vectors":
        return VectorReader.load(model)
    return Spellings.load(recipe, model) if recipe.spells else Vocabularies.load(model)
