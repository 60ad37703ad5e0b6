"""How the model of a training comes about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyglance.models import Model
from polyglance.recipes.schema import Recipe
from polyglance.text.embedders import TrainingTexts, build_embedder


@dataclass(frozen=True)
class Start:
    """A model before its training.

    Args:
        model: the model.
        fresh: whether its weights are random; image features are then standardised by the data.
        trains: the languages whose parameters are trained, the others being frozen; None is all.
    """

    model: Model
    fresh: bool = True
    trains: Sequence[str] | None = None


StartModel = Callable[[Recipe, TrainingTexts, int], Start]
"""(recipe, captions, dimension of an image feature) → the model to train."""


def fresh_model(recipe: Recipe, texts: TrainingTexts, feature_dim: int) -> Start:
    """A model with random weights.

    Args:
        recipe: of the model.
        texts: the training captions.
        feature_dim: dimension of an image feature.
    """
    embedder = build_embedder(recipe, texts)
    languages = sorted(set(texts.captions.languages)) or list(recipe.data.languages or ())
    return Start(Model(recipe, embedder, feature_dim, languages))
