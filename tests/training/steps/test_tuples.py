"""Which updates of tuples take all negatives, and which align languages alone."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training.inputs.data import TrainingData, fresh_model, prepare
from polyglance.training.samplers import TupleSampler
from polyglance.training.steps import TuplesStep
from tests.conftest import TOY

SMALL = [
    *TOY,
    "training.batch_size=20",
    "image.head.hidden=16",
    "image.dropout=0",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=8",
    "sampling.epoch=images",
    "sampling.anchor_weight=0",
    "sampling.adversary_weight=0",
    "sampling.mono_weight=0",
]


def built(toy: Path, *overrides: str) -> tuple[Model, TrainingData, TupleSampler, TuplesStep]:
    recipe = load_recipe("mule", parse_overrides([*SMALL, *overrides]), shared=True)
    torch.manual_seed(0)
    cache = toy.parent / "cache"
    start, data = prepare(recipe, load_dataset(toy), fresh_model, None, cache, False)
    sampler = TupleSampler(recipe, data)
    return start.model, data, sampler, TuplesStep(start.model, data, sampler)


def losses(toy: Path, *overrides: str) -> list[float]:
    *_, sampler, step = built(toy, "sampling.pretrain_epochs=0", *overrides)
    assert sampler.updates_per_epoch == 6
    with torch.no_grad():
        return [
            float(step.outcome(update, step.prepare(update, batch)).loss)
            for update, batch in enumerate(islice(sampler.batches(0), 9))
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
        (["sampling.pretrain_epochs=0"], 0),
        (["sampling.pretrain_epochs=0", "sampling.pretrain_updates=2"], 2),
        (["sampling.pretrain_epochs=1", "sampling.pretrain_updates=2"], 6),
        (["data.languages=[en]"], 0),
    ],
)
def test_languages_are_aligned_alone_for_exactly_so_long(
    toy: Path, overrides: list[str], first: int
) -> None:
    model, _, sampler, step = built(toy, *overrides)
    alone = []
    for update, batch in enumerate(islice(sampler.batches(0), 8)):
        model.network.zero_grad()
        step.outcome(update, step.prepare(update, batch)).loss.backward()
        grads = [p.grad for p in model.network.image.parameters() if p.grad is not None]
        if not any(bool(grad.any()) for grad in grads):
            alone.append(update)
    assert alone == list(range(first))
    # An evaluation after u updates means something as soon as one of them saw images.
    assert [step.evaluable(update) for update in range(1, 9)] == [u > first for u in range(1, 9)]


def test_masked_captions_are_matched_where_their_own_loss_weighs_nothing(toy: Path) -> None:
    plain = losses(toy)
    assert losses(toy, "sampling.masked_matching=false", "sampling.always_mask=true") == plain
    augmented = losses(toy, "sampling.always_mask=true")
    assert all(more > less for more, less in zip(augmented, plain, strict=True))
    # λ₂ adds its loss to that, and nothing else.
    weighted = losses(toy, "sampling.always_mask=true", "sampling.masking_weight=1.0e-9")
    assert weighted == pytest.approx(augmented, abs=1e-5)
