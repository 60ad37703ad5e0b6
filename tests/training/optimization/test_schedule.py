"""Learning rates of whole runs, by hand, and those that a run's log has."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from polyglance.recipes.schema import CosineSchedule, StepSchedule, TrainingRecipe
from polyglance.training.callbacks import WriteLog
from polyglance.training.optimization.schedule import learning_rate, total_updates
from tests.training.runs import run


def rates(recipe: TrainingRecipe, updates_per_epoch: int, count: int) -> list[float]:
    return [learning_rate(recipe, update, updates_per_epoch) for update in range(count)]


def test_constant() -> None:
    assert rates(TrainingRecipe(lr=0.003), 4, 12) == [0.003] * 12


@pytest.mark.parametrize(
    ("warmup", "golden"),
    [
        (0, [1, 1, 1, 1, 1, 1]),
        (1, [1, 1, 1, 1, 1, 1]),
        (2, [1 / 2, 1, 1, 1, 1, 1]),
        (4, [1 / 4, 2 / 4, 3 / 4, 1, 1, 1]),
        (5, [1 / 5, 2 / 5, 3 / 5, 4 / 5, 1, 1]),
    ],
)
def test_warm_up_reaches_the_rate_in_its_last_update(warmup: int, golden: list[float]) -> None:
    """Update u of n, from 0, has (u + 1) / n of the rate: the first is never 0."""
    assert rates(TrainingRecipe(lr=1.0, warmup_updates=warmup), 3, 6) == golden
    half = rates(TrainingRecipe(lr=0.5, warmup_updates=warmup), 3, 6)
    assert half == [rate / 2 for rate in golden]


@pytest.mark.parametrize(
    ("epoch", "golden"),
    [
        (None, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        (0, [0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        (1, [1, 1, 1, 1, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1]),
        (2, [1, 1, 1, 1, 1, 1, 1, 1, 0.25, 0.5, 0.75, 1]),
    ],
)
def test_warm_up_of_one_epoch(epoch: int | None, golden: list[float]) -> None:
    assert rates(TrainingRecipe(lr=1.0, warmup_epoch=epoch), 4, 12) == golden


def test_both_warm_ups_multiply() -> None:
    both = TrainingRecipe(lr=1.0, warmup_updates=6, warmup_epoch=0)
    golden = [1 / 6 / 4, 2 / 6 / 2, 3 / 6 * 3 / 4, 4 / 6, 5 / 6, 1, 1]
    assert rates(both, 4, 7) == pytest.approx(golden)


def test_steps() -> None:
    halved = TrainingRecipe(lr=1.0, schedule=StepSchedule(every=2, decay=0.5))
    assert rates(halved, 3, 19) == [1] * 6 + [0.5] * 6 + [0.25] * 6 + [0.125]
    every = TrainingRecipe(lr=8.0, schedule=StepSchedule(every=1, decay=0.25))
    assert rates(every, 2, 7) == [8, 8, 2, 2, 0.5, 0.5, 0.125]


def test_steps_and_warm_up() -> None:
    both = TrainingRecipe(lr=1.0, schedule=StepSchedule(every=1, decay=0.5), warmup_updates=4)
    assert rates(both, 2, 6) == [0.25, 0.5, 0.75 / 2, 1 / 2, 1 / 4, 1 / 4]
    one = TrainingRecipe(lr=1.0, schedule=StepSchedule(every=1, decay=0.5), warmup_epoch=1)
    assert rates(one, 2, 6) == [1, 1, 1 / 4, 1 / 2, 1 / 4, 1 / 4]


def test_growth_within_an_epoch_goes_with_every_schedule() -> None:
    recipe = TrainingRecipe(lr=1.0, warmup_epoch=1, schedule=StepSchedule(every=1, decay=0.5))
    assert rates(recipe, 4, 12) == [1.0] * 4 + [0.125, 0.25, 0.375, 0.5] + [0.25] * 4


ROOT = math.sqrt(0.5)


def test_cosine_falls_from_the_rate_to_its_floor() -> None:
    """cos of 0, 45, 90 and 135 degrees; the floor is what update 8 of 8 would have."""
    waves = [1, (1 + ROOT) / 2, 1 / 2, (1 - ROOT) / 2, 0]
    recipe = TrainingRecipe(lr=2.0, schedule=CosineSchedule(floor=0.2), epochs=2)
    golden = [2 * (0.2 + 0.8 * wave) for wave in waves]
    assert rates(recipe, 4, 9)[::2] == pytest.approx(golden)
    assert golden[-1] == pytest.approx(0.4)
    assert rates(recipe, 4, 9) == sorted(rates(recipe, 4, 9), reverse=True)


def test_cosine_over_updates_and_its_warm_up() -> None:
    recipe = TrainingRecipe(
        lr=1.0, schedule=CosineSchedule(floor=0.1), epochs=99, updates=4, warmup_updates=2
    )
    waves = [1, (1 + ROOT) / 2, 1 / 2, (1 - ROOT) / 2]
    factors = [0.5, 1, 1, 1]
    golden = [f * (0.1 + 0.9 * wave) for f, wave in zip(factors, waves, strict=True)]
    assert rates(recipe, 7, 4) == pytest.approx(golden)


def test_total_updates() -> None:
    assert total_updates(TrainingRecipe(epochs=3), 7) == 21
    assert total_updates(TrainingRecipe(epochs=3, updates=5), 7) == 5


def test_a_run_takes_the_rates_of_its_schedule(toy: Path, tmp_path: Path) -> None:
    chosen = ["lr=0.008", "warmup_updates=4", "epochs=2"]
    chosen += ["schedule.kind=step", "schedule.every=1", "schedule.decay=0.5"]
    settings = [f"training.{one}" for one in chosen]
    result = run(toy, tmp_path / "run", *settings, callbacks=[WriteLog(every=1)])
    lines = (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    logged = {row["update"]: row["lr"] for row in map(json.loads, lines) if "lr" in row}
    one = result.updates_per_epoch
    assert one > 4
    golden = [
        Fraction(8, 1000) * min(Fraction(1), Fraction(update + 1, 4)) / 2 ** (update // one)
        for update in range(2 * one)
    ]
    assert list(logged) == [update + 1 for update in range(2 * one)]
    assert list(logged.values()) == pytest.approx([float(rate) for rate in golden])


def test_steps_in_updates_do_not_look_at_epochs() -> None:
    schedule = StepSchedule(every=1, every_updates=3, decay=0.5)
    golden = [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]
    assert rates(TrainingRecipe(lr=1.0, schedule=schedule), 2, 8) == golden
