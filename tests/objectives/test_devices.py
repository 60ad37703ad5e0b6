"""Losses are computed where the scores are: torch's meta device stands for every other one."""

import pytest
import torch

from polyglance.objectives import (
    PairPredictor,
    across_languages,
    build_objective,
    match_images,
    max_of_hinges,
    mixed_hinges,
    same_language,
    sum_of_hinges,
)
from polyglance.objectives.objective import objectives
from polyglance.recipes.schema import AnyLossRecipe, TripletsRecipe, variants_of


@pytest.mark.parametrize("loss", [sum_of_hinges, max_of_hinges, mixed_hinges])
@pytest.mark.parametrize("masked", [False, True])
def test_hinges(loss, masked: bool) -> None:
    scores = torch.zeros(4, 4, device="meta")
    ignore = torch.zeros(4, 4, dtype=torch.bool, device="meta") if masked else None
    assert loss(scores, ignore=ignore).device.type == "meta"


@pytest.mark.parametrize("name", objectives.list())
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("warming_up", [False, True])
def test_objectives(name: str, masked: bool, warming_up: bool) -> None:
    objective = build_objective(variants_of(AnyLossRecipe)[name](mask_same_image=masked))
    image = torch.zeros(4, dtype=torch.int64, device="meta")
    loss = objective(torch.zeros(4, 4, device="meta"), image, warming_up)
    assert loss.device.type == "meta"
    assert loss.shape == ()


def test_tuples() -> None:
    recipe = TripletsRecipe()
    sentences = torch.zeros(3, 4, 2, 5, device="meta")
    has = torch.ones(3, 4, dtype=torch.bool, device="meta")
    loss, cosines = match_images(sentences, torch.zeros(4, 5, device="meta"), has, recipe)
    predictor = PairPredictor(5).to("meta")
    others = [
        same_language(sentences, has, recipe),
        across_languages(sentences, has, recipe),
        across_languages(sentences[:1], has[:1], recipe),
        predictor.loss(sentences, sentences, has),
        predictor.loss(sentences[:1], sentences[:1], has[:1]),
    ]
    assert {found.device.type for found in [loss, cosines, *others]} == {"meta"}
