"""Recipes: named systems as data."""

from polyglance.recipes.fields import field_rows
from polyglance.recipes.load import change_recipe, check_recipe, load_recipe, recipe_names
from polyglance.recipes.merge import parse_overrides
from polyglance.recipes.schema import Recipe

__all__ = [
    "Recipe",
    "change_recipe",
    "check_recipe",
    "field_rows",
    "load_recipe",
    "parse_overrides",
    "recipe_names",
]
