"""One run folder, two trainings: real processes, one of them refused or killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from polyglance.cli import demo_train as demo
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TransferRecipe
from polyglance.transfer.extend import extend_model, extension_recipe
from tests.training.runs import run, same

ROOT = Path(__file__).parents[2]
SETTINGS = ("text.word_dropout=0.3", "training.evaluate_every=4")

HELD = """
import sys
from pathlib import Path
from polyglance.data import load_dataset
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import Callback, WriteCheckpoints, train
from polyglance.training.inputs.data import fresh_model
from tests.conftest import TOY
def wait(update):
    if update == int(sys.argv[3]):
        print("ready", flush=True)
        sys.stdin.readline()
class Wait(Callback):
    def on_update(self, trainer, outcome, rate, size):
        wait(trainer.done.update)
def start(*arguments):
    wait(0)
    return fresh_model(*arguments)
recipe = load_recipe("vsepp", parse_overrides([*TOY, *sys.argv[4:]]))
data, out = load_dataset(sys.argv[1]), Path(sys.argv[2])
callbacks = [WriteCheckpoints(seconds=0.0), Wait()]
train(recipe, data, out, show_progress=False, start=start, callbacks=callbacks)
"""


@contextmanager
def training(toy: Path, out: Path, update: int) -> Iterator[subprocess.Popen]:
    """A process that trains and waits after so many updates (0: before the folder has a model)."""
    command = [sys.executable, "-c", HELD, str(toy), str(out), str(update), *SETTINGS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def go_on(process: subprocess.Popen) -> int:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    return process.wait()


@pytest.mark.parametrize("update", [0, 5])
def test_a_second_training_is_refused_and_the_first_is_as_if_alone(
    toy: Path, tmp_path: Path, update: int
) -> None:
    torch.set_num_threads(1)
    run(toy, tmp_path / "alone", *SETTINGS)
    out = tmp_path / "run"
    with training(toy, out, update) as first:
        before = sorted((path.name, path.stat().st_mtime_ns) for path in out.iterdir())
        for resume in (False, True):
            with pytest.raises(PolyglanceError) as told:
                run(toy, out, *SETTINGS, resume=resume)
            assert str(told.value) == (
                f"{out}: another training (process {first.pid}) is writing to this folder; "
                "wait for it to end, or choose another --out"
            )
        after = sorted((path.name, path.stat().st_mtime_ns) for path in out.iterdir())
        assert after == before
        assert go_on(first) == 0
    assert same(tmp_path / "alone", out)
    with pytest.raises(PolyglanceError, match="a run already exists there"):
        run(toy, out, *SETTINGS)
    assert run(toy, out, *SETTINGS, resume=True).progress.finished


@pytest.mark.parametrize("update", [0, 5])
def test_a_killed_training_does_not_keep_its_folder(toy: Path, tmp_path: Path, update: int) -> None:
    torch.set_num_threads(1)
    run(toy, tmp_path / "alone", *SETTINGS)
    with training(toy, tmp_path / "run", update) as dead:
        os.kill(dead.pid, signal.SIGKILL)
        assert dead.wait() == -signal.SIGKILL
        run(toy, tmp_path / "run", *SETTINGS, resume=update > 0)
    assert same(tmp_path / "alone", tmp_path / "run")


def test_the_program_refuses_a_folder_that_is_trained_in(toy: Path, tmp_path: Path) -> None:
    with training(toy, tmp_path / "run", 5) as first:
        command = [sys.executable, "-m", "polyglance", "train", "vsepp", "--data", str(toy)]
        told = subprocess.run(
            [*command, "--out", str(tmp_path / "run")], cwd=ROOT, capture_output=True, check=False
        )
        assert told.returncode == 2
        assert f"another training (process {first.pid})" in " ".join(told.stderr.decode().split())


def test_a_language_is_not_added_into_a_folder_that_is_trained_in(
    toy: Path, tmp_path: Path
) -> None:
    old = run(toy, tmp_path / "old", "data.languages=[en]").model
    transfer = TransferRecipe(
        source=str(tmp_path / "old"), dictionary=f"captions:{toy}", pivot="en"
    )
    recipe = extension_recipe(old, "de", transfer, 0, 1, 1e-3)
    with (
        training(toy, tmp_path / "run", 0) as first,
        pytest.raises(PolyglanceError, match=rf"another training \(process {first.pid}\)"),
    ):
        extend_model(recipe, tmp_path / "run")
    new, _ = extend_model(recipe, tmp_path / "new")
    assert new.languages == ["de", "en"]


def test_a_refused_recipe_leaves_no_folder_above_the_run(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for out in (tmp_path / "a" / "b" / "run", tmp_path / "mine"):
        with pytest.raises(PolyglanceError, match="no split 'dev'"):
            run(toy, out, "data.validation_split=dev")
    assert not (tmp_path / "a").exists()
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_demo_does_not_remove_what_another_trains(toy: Path, tmp_path: Path) -> None:
    with training(toy, tmp_path / demo.RUN, 5):
        before = sorted((tmp_path / demo.RUN).iterdir())
        with pytest.raises(PolyglanceError, match="another training"):
            demo._remove(tmp_path)
        assert sorted((tmp_path / demo.RUN).iterdir()) == before
    demo._remove(tmp_path)
    assert not (tmp_path / demo.RUN).exists()


def test_a_folder_that_cannot_be_made_is_refused(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(PolyglanceError, match=r"file/run: cannot be written \(Not a directory\)"):
        run(toy, tmp_path / "file" / "run")
