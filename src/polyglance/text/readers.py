"""The reader that a recipe needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyglance.recipes.schema import TextRecipe
from polyglance.text.added_words import load_added
from polyglance.text.closed import ClosedVocabularies
from polyglance.text.forms import in_pieces, spells
from polyglance.text.pieces import Pieces
from polyglance.text.pretrained import encoder_folder
from polyglance.text.reader import Reader
from polyglance.text.spellings import Spellings
from polyglance.text.vector_words import VectorReader
from polyglance.text.vocabularies import Vocabularies


def build_reader(recipe: TextRecipe, words: Mapping[str, Sequence[Sequence[str]]]) -> Reader:
    """Of training words by language: a vocabulary, their characters, or the encoder's pieces.

    Universal words, which need vectors, are made by `training.universal`, and fixed vectors by
    `training.vectors`.
    """
    if in_pieces(recipe):
        return Pieces.open(encoder_folder(recipe))
    if spells(recipe):
        return Spellings.build(recipe, words)
    return Vocabularies.build(recipe, words)


def load_reader(recipe: TextRecipe, model: Path) -> Reader:
    """The reader of a saved model, whose recipe is `located` there."""
    return load_added(_load(recipe, model), model)


def _load(recipe: TextRecipe, model: Path) -> Reader:
    if in_pieces(recipe):
        return Pieces.open(encoder_folder(recipe))
    if recipe.embedder.kind == "universal":
        return ClosedVocabularies.load(model)
    if recipe.embedder.kind == "vectors":
        return VectorReader.load(model)
    return Spellings.load(recipe, model) if spells(recipe) else Vocabularies.load(model)
