"""Which updates of tuples take all negatives, and which align languages alone."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training.data import TrainingData, prepare
from polyglance.training.tuples import TuplesFeed
from polyglance.training.tuples_step import TuplesStep
from tests.conftest import TOY

SMALL = [
    *TOY,
    "training.batch_size=20",
    "image.hidden=16",
    "image.dropout=0",
    "universal.trained=8",
    "universal.dim=8",
    "constraints.anchor=0",
    "constraints.adversary=0",
    "constraints.mono=0",
]


def built(toy: Path, *overrides: str) -> tuple[Model, TrainingData, TuplesFeed, TuplesStep]:
    recipe = load_recipe("mule", parse_overrides([*SMALL, *overrides]))
    torch.manual_seed(0)
    model, data = prepare(recipe, load_dataset(toy), toy.parent / "cache", False)
    feed = TuplesFeed(recipe, data)
    return model, data, feed, TuplesStep(model, data, feed)


def losses(toy: Path, *overrides: str) -> list[float]:
    *_, feed, step = built(toy, "constraints.pretrain_epochs=0", *overrides)
    assert feed.updates_per_epoch == 6
    with torch.no_grad():
        return [
            float(step.outcome(update, batch).loss)
            for update, batch in enumerate(islice(feed.steps(0), 9))
        ]


@pytest.mark.parametrize(
    ("overrides", "warm"),
    [
        (["loss.warmup_updates=1"], 1),
        (["loss.warmup_updates=4"], 4),
        (["loss.warmup_epochs=1", "loss.warmup_updates=4"], 6),
        (["loss.warmup_epochs=1", "loss.warmup_updates=7"], 7),
    ],
)
def test_all_negatives_for_exactly_the_warm_up(toy: Path, overrides: list[str], warm: int) -> None:
    every, hardest = losses(toy, "loss.top=9999"), losses(toy, "loss.top=1")
    assert not np.isclose(every, hardest, rtol=1e-3).any()
    found = losses(toy, "loss.top=1", *overrides)
    assert found == pytest.approx(every[:warm] + hardest[warm:], rel=1e-5)


@pytest.mark.parametrize(
    ("overrides", "first"),
    [
        (["constraints.pretrain_epochs=0"], 0),
        (["constraints.pretrain_epochs=0", "constraints.pretrain_updates=2"], 2),
        (["constraints.pretrain_epochs=1", "constraints.pretrain_updates=2"], 6),
        (["data.languages=[en]"], 0),
    ],
)
def test_languages_are_aligned_alone_for_exactly_so_long(
    toy: Path, overrides: list[str], first: int
) -> None:
    model, _, feed, step = built(toy, *overrides)
    alone = []
    for update, batch in enumerate(islice(feed.steps(0), 8)):
        model.network.zero_grad()
        step.outcome(update, batch).loss.backward()
        grads = [p.grad for p in model.network.image.parameters() if p.grad is not None]
        if not any(bool(grad.any()) for grad in grads):
            alone.append(update)
    assert alone == list(range(first))
    # An evaluation after u updates means something as soon as one of them saw images.
    assert [step.judged(update) for update in range(1, 9)] == [u > first for u in range(1, 9)]
