"""What all samplers have in common."""

from itertools import islice

import pytest

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, recipe_names
from polyglance.training.samplers import (
    ImageSampler,
    JointSampler,
    LanguageSampler,
    TupleSampler,
    UnionSampler,
    samplers,
)
from tests.training.samplers.planted import data, same, sampler


@pytest.mark.parametrize(
    "settings",
    [
        ["sampling.kind=union"],
        ["sampling.kind=languages", "sampling.c2c=0.5"],
        ["sampling.kind=languages", "sampling.c2c=0.5", "text.towers=per-language"],
        ["sampling.kind=languages", "compat.reshuffle_all=true"],
        ["sampling.kind=joint", "sampling.c2c_weight=1"],
    ],
)
def test_the_same_updates_from_any_start(settings: list[str]) -> None:
    whole = list(islice(sampler(data(), *settings).batches(0), 120))
    for start in (1, 37, 90):
        rest = list(islice(sampler(data(), *settings).batches(start), 120 - start))
        assert all(same(a, b) for a, b in zip(whole[start:], rest, strict=True))
    other = list(islice(sampler(data(), *settings, "training.seed=1").batches(0), 120))
    assert not any(same(a, b) for a, b in zip(whole, other, strict=True))


def test_every_recipe_has_a_sampler() -> None:
    found = {samplers.get(load_recipe(name).sampling.kind) for name in recipe_names()}
    assert found == {UnionSampler, LanguageSampler, JointSampler, TupleSampler, ImageSampler}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["sampling.c2c=0.5"], "kind union has no field .c2c"),
        (["text.towers=per-language"], "needs batches of one language"),
        (["sampling.kind=languages", "sampling.text_only=true"], "sampling.c2c above 0"),
        (["sampling.kind=joint", "sampling.text_only=true"], "sampling.c2c_weight above 0"),
        (["training.batch_size=1000", "training.drop_last=true"], "do not fill one batch"),
    ],
)
def test_impossible_samplings_are_refused(settings: list[str], message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        sampler(data(), *settings)
