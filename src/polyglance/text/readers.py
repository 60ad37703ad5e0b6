"""The reader that a recipe needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyglance.recipes.schema import TextRecipe
from polyglance.text.pieces import Pieces
from polyglance.text.pretrained import encoder_folder
from polyglance.text.reader import Reader
from polyglance.text.vocabularies import Vocabularies


def build_reader(recipe: TextRecipe, words: Mapping[str, Sequence[Sequence[str]]]) -> Reader:
    """A vocabulary of training words by language, or the pretrained encoder's tokeniser."""
    if recipe.encoder == "transformer":
        return Pieces.open(encoder_folder(recipe))
    return Vocabularies.build(recipe, words)


def load_reader(recipe: TextRecipe, model: Path) -> Reader:
    """The reader of a saved model, whose recipe is `located` there."""
    if recipe.encoder == "transformer":
        return Pieces.open(encoder_folder(recipe))
    return Vocabularies.load(model)
