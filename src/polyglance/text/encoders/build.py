"""The text tower of a recipe."""

from polyglance.recipes.schema import Recipe
from polyglance.text.embedders import Embedder
from polyglance.text.encoders.tower import LanguageTowers, TextTower, Tower
from polyglance.text.encoders.transformer import TransformerTower


def build_text_tower(recipe: Recipe, embedder: Embedder) -> Tower:
    """One tower for all languages, one for each, or a pretrained transformer."""
    if recipe.text.encoder.kind == "transformer":
        return TransformerTower(recipe.text, recipe.joint.dim)
    towers = {
        tower: TextTower(recipe, layer, embedder.added_rows(tower, layer.dim))
        for tower, layer in embedder.layers()
    }
    return towers[""] if "" in towers else LanguageTowers(towers, embedder.pivots)
