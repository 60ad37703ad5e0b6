"""The reader that a recipe needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyglance.recipes.schema import TextRecipe
from polyglance.text.pieces import Pieces
from polyglance.text.pretrained import encoder_folder
from polyglance.text.reader import Reader
from polyglance.text.spellings import Spellings
from polyglance.text.vocabularies import Vocabularies


def build_reader(recipe: TextRecipe, words: Mapping[str, Sequence[Sequence[str]]]) -> Reader:
    """Of training words by language: a vocabulary, their characters, or the encoder's pieces."""
    if recipe.in_pieces:
        return Pieces.open(encoder_folder(recipe))
    if recipe.spells:
        return Spellings.build(recipe, words)
    return Vocabularies.build(recipe, words)


def load_reader(recipe: TextRecipe, model: Path) -> Reader:
    """The reader of a saved model, whose recipe is `located` there."""
    if recipe.in_pieces:
        return Pieces.open(encoder_folder(recipe))
    return Spellings.load(recipe, model) if recipe.spells else Vocabularies.load(model)
