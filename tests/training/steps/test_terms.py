"""Which updates warm the loss up: exactly as many as asked for, from the first."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.models.tensors import to_tensors
from polyglance.objectives import max_of_hinges, sum_of_hinges
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TextBatch
from polyglance.training.inputs.data import fresh_model, prepare
from polyglance.training.samplers import Term, UnionSampler
from polyglance.training.steps import TermsStep
from tests.conftest import TOY

BATCH = 40
MARGIN = 0.3


def started(toy: Path, *overrides: str) -> tuple[TermsStep, UnionSampler]:
    """A step that has made no update; an epoch has 12."""
    loss = [f"loss.margin={MARGIN}", "loss.warmup_epochs=0", "loss.mask_same_image=false"]
    changes = [*TOY, f"training.batch_size={BATCH}", *loss, *overrides]
    recipe = load_recipe("vsepp", parse_overrides(changes), shared=True)
    torch.manual_seed(0)
    start, data = prepare(recipe, load_dataset(toy), fresh_model, show_progress=False)
    sampler = UnionSampler(recipe, data)
    assert sampler.updates_per_epoch == 12
    return TermsStep(start.model, data, sampler), sampler


def scores(step: TermsStep, batch: list[Term]) -> torch.Tensor:
    """Of a batch, from the network itself."""
    rows = batch[0].captions
    network, tokens = step.model.network, step.data.ids
    images = network.embed_images(*to_tensors(step.data.features, step.data.image[rows]))
    texts = [tokens.flat[tokens.offsets[row] : tokens.offsets[row + 1]] for row in rows]
    lengths = np.array([len(text) for text in texts])
    ids = np.zeros((len(rows), lengths.max()), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
    captions = network.embed_text(TextBatch(torch.from_numpy(ids), torch.from_numpy(lengths)))
    return network.scores(images, captions)


@pytest.mark.parametrize(
    ("overrides", "warm"),
    [
        ([], 0),
        (["loss.warmup_updates=1"], 1),
        (["loss.warmup_updates=3"], 3),
        (["loss.warmup_epochs=1"], 12),
        (["loss.warmup_epochs=1", "loss.warmup_updates=3"], 12),
        (["loss.warmup_epochs=1", "loss.warmup_updates=14"], 14),
    ],
)
def test_sum_of_hinges_for_exactly_the_warm_up(toy: Path, overrides: list[str], warm: int) -> None:
    step, sampler = started(toy, "loss.kind=max-hinge", *overrides)
    every, hardest = [], []
    with torch.no_grad():
        for update, batch in enumerate(islice(sampler.batches(0), 16)):
            outcome = step.outcome(update, step.prepare(update, batch))
            found = scores(step, batch)
            sums, maxima = sum_of_hinges(found, MARGIN), max_of_hinges(found, MARGIN)
            assert float(sums) > 2 * float(maxima)
            if float(outcome.loss) == pytest.approx(float(sums), rel=1e-4):
                every.append(update)
                assert outcome.collapsed == pytest.approx(2 * MARGIN * BATCH * (BATCH - 1))
            if float(outcome.loss) == pytest.approx(float(maxima), rel=1e-4):
                hardest.append(update)
                assert outcome.collapsed == pytest.approx(2 * MARGIN * BATCH)
            assert outcome.deviation == pytest.approx(float(found.std(correction=0)), rel=1e-4)
    assert every == list(range(warm))
    assert hardest == list(range(warm, 16))


def test_mixed_hinges_count_from_the_first_update_after_the_warm_up(toy: Path) -> None:
    step, sampler = started(toy, "loss.kind=mixed-hinge", "loss.warmup_updates=2")
    counts = []
    with torch.no_grad():
        for update, batch in enumerate(islice(sampler.batches(0), 5)):
            step.outcome(update, step.prepare(update, batch))
            counts.append(int(step.objective.state_dict()["step"]))
    assert counts == [0, 0, 1, 2, 3]


def test_a_term_has_its_weight_in_the_loss_and_in_its_collapsed_value(toy: Path) -> None:
    step, sampler = started(toy, "loss.kind=sum-hinge")
    first, second = (batch[0].captions for batch in islice(sampler.batches(0), 2))
    with torch.no_grad():
        one, two = (step.outcome(0, step.prepare(0, [Term(rows)])) for rows in (first, second))
        both = step.outcome(
            0, step.prepare(0, [Term(first, weight=0.25), Term(second, weight=3.0)])
        )
    assert float(both.loss) == pytest.approx(0.25 * float(one.loss) + 3 * float(two.loss))
    assert both.collapsed == pytest.approx(0.25 * one.collapsed + 3 * two.collapsed)
    assert both.deviation == max(one.deviation, two.deviation)
    assert step.size([Term(first), Term(second[:5])]) == BATCH
