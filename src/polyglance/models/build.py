"""The network that a recipe describes."""

from collections.abc import Mapping

from polyglance.models.cross_attention import CrossAttention
from polyglance.models.network import Network
from polyglance.models.two_tower import TwoTower
from polyglance.recipes import Recipe
from polyglance.text.reader import Reader


def build_network(
    recipe: Recipe, feature_dim: int, vocabulary: int | Mapping[str, int] | Reader
) -> Network:
    """Two towers with points, or with sets of vectors where the recipe has an attention."""
    kind = CrossAttention if recipe.joint.attends else TwoTower
    return kind(recipe, feature_dim, vocabulary)
