"""Packaged recipes at their own sizes on "meta", which has shapes and no values.

Captions need values (distinct words, lengths), and so do sets of vectors (lengths): what is run
here are image towers of global features with loss, backward and clipping (torch's fused optimizers
refuse "meta"). `test_recipes.py` runs all of an update of every recipe.
"""

import pytest
import torch
from torch import Tensor

from polyglance.models import Model
from polyglance.models.parameters import CHARACTERS, FEATURES, WORDS
from polyglance.objectives import build_objective
from polyglance.recipes import Recipe, load_recipe, recipe_names
from polyglance.recipes.schema import CharacterEmbedderRecipe
from polyglance.text.embedders import embedders
from polyglance.training.optimization.optimizer import clip_gradients
from tests.devices.recipes import NOT_GLOBAL

BATCH = 6
META = torch.device("meta")
RECIPES = [
    name
    for name in recipe_names()
    if load_recipe(name).image.feature.endswith("/global") and name not in NOT_GLOBAL
]


def on_meta(recipe: Recipe) -> Model:
    """The model with a vocabulary of no words in particular."""
    spelt = isinstance(recipe.text.embedder, CharacterEmbedderRecipe)
    words = CHARACTERS if spelt else WORDS
    with META:
        embedder = embedders.get(recipe.text.embedder.kind).blank(recipe, words)
        return Model(recipe, embedder, FEATURES, ["xx"])


def seen(model: Model) -> tuple[Tensor, ...]:
    """What the image tower takes."""
    backbone = model.network.image.backbone
    if backbone is None:
        return (torch.empty(BATCH, FEATURES, device=META),)
    size = backbone.preprocessing.size
    return backbone(torch.empty(BATCH, size, size, 3, dtype=torch.uint8, device=META))


@pytest.mark.parametrize("name", RECIPES)
def test_the_image_side_makes_an_update(name: str) -> None:
    recipe = load_recipe(name)
    shared = recipe.text.model_copy(update={"towers": "shared"})
    recipe = recipe.model_copy(update={"text": shared})
    model = on_meta(recipe)
    vectors = model.network.embed_images(*seen(model))
    assert vectors.device == META
    assert vectors.shape == (BATCH, recipe.joint.dim)
    scores = vectors @ vectors.t()
    if recipe.loss.kind == "triplets":
        loss = scores.relu().mean()
    else:
        with META:
            objective = build_objective(recipe.loss)
        loss = objective(scores, torch.arange(len(scores), device=META))
    assert loss.shape == ()
    loss.backward()
    weights = [one for one in model.network.parameters() if one.grad is not None]
    assert weights or not any(part.requires_grad for part in model.network.image.parameters())
    if weights:
        clip_gradients(weights, 1.0)
