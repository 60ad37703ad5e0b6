"""How long a training is: sized to the data, or made longer afterwards."""

import json
from pathlib import Path

import pytest
import torch

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.recipes.schema import TrainingRecipe
from polyglance.training.optimization.schedule import ENOUGH_UPDATES, epochs_of, evaluation_interval
from polyglance.training.trainer import Progress, Result
from tests.conftest import TOY, write_toy
from tests.training.runs import run, same, weights

SMALL = ("text.word_dropout=0.3", "training.schedule.kind=constant")


def test_nce_gives_small_data_enough_updates(tmp_path: Path) -> None:
    """16 images: an epoch is one update, where 3 of them would teach nothing."""
    toy = write_toy(tmp_path / "toy", photos=16)
    small = [one for one in TOY if not one.startswith("training.epochs")]
    result = run(toy, tmp_path / "run", "training.batch_size=256", recipe="nce", small=small)
    assert result.updates_per_epoch == 1
    updates = [row["update"] for row in result.progress.evaluations]
    assert updates[:3] == [35, 70, 105]
    assert result.progress.update >= 350  # patience counts evaluations, not epochs of an update
    assert result.progress.planned == ENOUGH_UPDATES


def test_nce_has_as_many_epochs_as_it_was_measured_with() -> None:
    """docs/results.md: ten languages of flickr8k-ml (705 updates an epoch), English (118)."""
    training = load_recipe("nce").training
    assert epochs_of(training, 705) == 3
    assert epochs_of(training, 118) == 6
    assert evaluation_interval(training, 705) == 705
    assert evaluation_interval(training, 118) == 118


def test_named_epochs_are_those() -> None:
    assert epochs_of(TrainingRecipe(epochs=2), 1) == 2
    assert evaluation_interval(TrainingRecipe(epochs=2), 1) == 1
    assert evaluation_interval(TrainingRecipe(epochs="auto", evaluate_every=7), 1) == 7
    with pytest.raises(ValueError, match="epochs"):
        TrainingRecipe(epochs=0)


def test_epochs_added_to_a_finished_run_are_those_of_a_longer_one(
    toy: Path, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    run(toy, tmp_path / "long", *SMALL, "training.epochs=4")
    run(toy, tmp_path / "short", *SMALL, "training.epochs=2")
    assert not same(tmp_path / "long", tmp_path / "short")
    more = run(toy, tmp_path / "short", *SMALL, "training.epochs=4", resume=True)
    assert more.progress.finished == "all 4 epochs done"
    assert same(tmp_path / "long", tmp_path / "short")
    config = json.loads((tmp_path / "short" / "model.json").read_text())
    assert config["recipe"]["training"]["epochs"] == 4


def test_a_run_stopped_early_continues_with_more_epochs(toy: Path, tmp_path: Path) -> None:
    impatient = ("training.patience=1", "training.lr=0.05")
    first = run(toy, tmp_path / "run", *impatient, "training.epochs=40")
    assert "no better rsum" in first.progress.finished
    made = first.progress.update
    same_again = run(toy, tmp_path / "run", *impatient, "training.epochs=40", resume=True)
    assert same_again.progress.update == made
    again = run(toy, tmp_path / "run", *impatient, "training.epochs=80", resume=True)
    assert again.progress.update > made


def test_fewer_epochs_than_done_are_refused_and_change_nothing(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "run", "training.epochs=3")
    before, config = weights(tmp_path / "run"), (tmp_path / "run" / "model.json").read_text()
    with pytest.raises(
        PolyglanceError, match="has made 45 updates, more than the 15 now requested"
    ):
        run(toy, tmp_path / "run", "training.epochs=1", resume=True)
    assert (tmp_path / "run" / "model.json").read_text() == config
    assert all(torch.equal(before[k], v) for k, v in weights(tmp_path / "run").items())


def test_a_run_whose_last_evaluation_was_the_best_says_how_to_continue(
    toy: Path, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    def train(*more: str) -> str:
        sets = [
            word
            for one in [*TOY, *SMALL, "training.warmup_updates=0", *more]
            for word in ("--set", one)
        ]
        words = ["train", "nce", "--data", str(toy), "--out", str(tmp_path / "run"), *sets]
        result = CliRunner().invoke(app, [*words, "--resume"])
        assert result.exit_code == 0, result.output
        return result.stderr

    assert "to continue" not in train("training.epochs=1")
    told = train("training.epochs=2")
    assert "last evaluation was the best" in told
    assert "to continue, repeat the command with --resume --set training.epochs=4" in told


def test_one_evaluation_is_not_a_last_one_that_improved() -> None:
    rows = [{"update": 15}, {"update": 30}]
    model = object()
    for count, best, wanted in [(1, 15, False), (2, 30, True), (2, 15, False)]:
        done = Progress(update=15 * count, best_update=best, evaluations=rows[:count])
        assert Result(model, done).still_improving is wanted  # type: ignore[arg-type]
