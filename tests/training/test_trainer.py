"""Training: the same bits every time, after a kill too."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from polyglance import Model
from polyglance.errors import PolyglanceError
from polyglance.training import Callback, WatchCollapse
from tests.conftest import write_toy
from tests.training.runs import run, same, weights

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("recipe", ["vse0", "vsepp", "order", "nce"])
def test_every_recipe_learns_in_both_languages(toy: Path, tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "run"
    result = run(toy, out, "training.epochs=12", "training.warmup_updates=0", recipe=recipe)
    # 20 images are evaluated, and many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 60
    assert Model.load(out).languages == ["de", "en"]
    assert (out / "curve.png").stat().st_size > 1000
    assert list((out / "tensorboard").iterdir())


def test_one_seed_gives_the_same_bits_and_another_does_not(toy: Path, tmp_path: Path) -> None:
    dropout = "text.word_dropout=0.3"
    run(toy, tmp_path / "a", dropout)
    run(toy, tmp_path / "b", dropout)
    run(toy, tmp_path / "c", dropout, "training.seed=1")
    assert same(tmp_path / "a", tmp_path / "b")
    assert not same(tmp_path / "a", tmp_path / "c")


KILLED = """
import os, signal, sys
from pathlib import Path
from polyglance.training import Callback, WriteCheckpoints
from tests.training.runs import run
class Kill(Callback):
    def on_update(self, trainer, outcome, rate, size):
        if trainer.done.update == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
callbacks = [WriteCheckpoints(seconds=float(sys.argv[4])), Kill()]
run(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[5:], callbacks=callbacks)
"""


@pytest.mark.parametrize(("update", "seconds"), [(3, 0), (16, 0), (15, 9999), (45, 0)])
def test_a_killed_run_resumes_to_the_same_bits(
    toy: Path, tmp_path: Path, update: int, seconds: int
) -> None:
    """With a checkpoint of every update, or of every evaluation alone.

    An evaluation is due after update 16, and update 45 is the last: the kill is before.
    """
    settings = ("text.word_dropout=0.3", "training.evaluate_every=4")
    torch.set_num_threads(1)
    run(toy, tmp_path / "whole", *settings)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [str(toy), str(tmp_path / "killed"), str(update), str(seconds), *settings]
    command = [sys.executable, "-c", KILLED, *words]
    dead = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
    assert dead.returncode == -signal.SIGKILL, dead.stderr.decode()
    resumed = run(toy, tmp_path / "killed", *settings, resume=True)
    assert same(tmp_path / "whole", tmp_path / "killed")
    assert resumed.progress.finished == "all 3 epochs done"

    def rows(name: str) -> list[dict]:
        lines = (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines if "rsum" in line]

    assert rows("whole") == rows("killed")


def test_resuming_a_finished_run_changes_nothing(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "run")
    before = weights(tmp_path / "run")
    again = run(toy, tmp_path / "run", resume=True)
    assert again.progress.finished
    assert all(torch.equal(before[k], v) for k, v in weights(tmp_path / "run").items())


def test_patience_stops_and_the_best_weights_stay(toy: Path, tmp_path: Path) -> None:
    result = run(
        toy, tmp_path / "run", "training.epochs=40", "training.patience=2", "training.lr=0.05"
    )
    assert result.progress.finished == "no better rsum in 2 evaluations"
    values = {e["update"]: e["rsum"] for e in result.progress.evaluations}
    assert values[result.progress.best_update] == max(values.values())


def test_a_length_in_updates_replaces_epochs(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", "training.epochs=1", "training.updates=17")
    assert result.progress.update == 17
    assert result.progress.finished == "all 17 updates done"


def test_warm_up_in_updates_is_that_in_epochs(toy: Path, tmp_path: Path) -> None:
    length = ("training.epochs=2", "loss.kind=max-hinge")
    epochs = run(toy, tmp_path / "epochs", *length, "loss.warmup_epochs=1")
    one = epochs.progress.update // 2
    run(toy, tmp_path / "updates", *length, "loss.warmup_epochs=0", f"loss.warmup_updates={one}")
    run(toy, tmp_path / "less", *length, "loss.warmup_epochs=0", f"loss.warmup_updates={one - 1}")
    assert same(tmp_path / "epochs", tmp_path / "updates")
    assert not same(tmp_path / "epochs", tmp_path / "less")


def test_collapse_ends_training_with_an_error(tmp_path: Path) -> None:
    """Images that look alike leave max-of-hinges nothing better than equal scores."""
    toy, early = write_toy(tmp_path / "toy", planted=0.0), [WatchCollapse(patience=20)]
    cold = ("loss.warmup_epochs=0", "training.epochs=50", "training.evaluate_every=9999")
    with pytest.raises(PolyglanceError, match=r"collapsed: for 20 updates .* \(12\.80\)"):
        run(toy, tmp_path / "run", *cold, callbacks=early)
    warnings: list[str] = []

    class Listen(Callback):
        def on_warning(self, trainer, message) -> None:
            warnings.append(message)

    warn = (cold[0], "training.epochs=10", "training.collapse=warn")
    warned = run(toy, tmp_path / "warned", *warn, callbacks=[WatchCollapse(20), Listen()])
    assert warned.progress.finished == "all 10 epochs done"
    assert warnings
    lines = (tmp_path / "warned" / "metrics.jsonl").read_text().splitlines()
    assert [row["warning"] for row in map(json.loads, lines) if "warning" in row] == warnings


def test_divergence_ends_training_with_an_error(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="diverged"):
        run(toy, tmp_path / "run", "training.lr=1e38", "training.clip=1e38")


def test_one_language_of_two(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", "data.languages=[de]")
    assert result.model.languages == ["de"]
    assert "dog" not in result.model.embedder.known_words("de")
    assert list(result.progress.evaluations[-1]["mr"]) == ["de"]


def test_sets_of_vectors_train(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "sets", form="set")
    result = run(toy, tmp_path / "run", "image.standardise=true", "training.epochs=8")
    assert result.progress.evaluations[-1]["mr"]["en"] > 50


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data.languages=[fr]"], "no captions in language 'fr'"),
        (["data.kinds=[machine]"], "no captions in the requested languages"),
        (["data.validation_split=dev"], "no split 'dev'"),
        (["image.feature=imported/regions"], "no imported features 'regions'"),
        (["image.feature=efficientnet-lite2/global"], "has no images to compute"),
        (["text.tokenizer=wrods"], "did you mean 'words'"),
        (["text.pooling=lst"], "did you mean 'last'"),
        (["loss.kind=infonse"], "did you mean 'infonce'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    toy: Path, tmp_path: Path, overrides: list[str], message: str
) -> None:
    with pytest.raises(PolyglanceError, match=message) as told:
        run(toy, tmp_path / "run", *overrides)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


def test_gradients_are_clipped_where_the_recipe_says_so_alone(toy: Path, tmp_path: Path) -> None:
    for clip in ("null", "1.0e9", "1.0e-6"):
        run(toy, tmp_path / clip, "training.updates=5", f"training.clip={clip}")
    assert same(tmp_path / "null", tmp_path / "1.0e9")
    assert not same(tmp_path / "null", tmp_path / "1.0e-6")
