"""`torchrun … -m polyglance train`: killed and resumed, and refused."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.training.distributed.error_message import PEER_GONE
from tests.conftest import TOY, write_toy
from tests.training.distributed.processes import process_of, start, torchrun
from tests.training.runs import run, weights

CHANGES = [*TOY, "training.lr=0.001", "training.evaluate_every=4", "training.epochs=12"]
SETTINGS = [word for change in CHANGES for word in ("--set", change)]


def command(data: Path, out: Path, *more: str) -> list[str]:
    return ["train", "vsepp", "--data", str(data), "--out", str(out), *SETTINGS, *more]


def evaluations(out: Path) -> int:
    log = out / "metrics.jsonl"
    return log.read_text().count("rsum") if log.exists() else 0


def kill_one(rank: int, out: Path, words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Start a command and kill a process of it after its first evaluation."""
    before = evaluations(out)
    with start("-m", "polyglance", *words) as process:
        while evaluations(out) <= before:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        os.kill(process_of(process.pid, rank), signal.SIGKILL)
        output, errors = process.communicate()
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_killed_process_ends_all_and_a_resumption_comes_out_the_same(
    toy: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    first = kill_one(1, out, command(toy, out))
    assert not (out / ".training.pid").exists()
    second = kill_one(0, out, command(toy, out, "--resume"))
    for killed in (first, second):
        assert killed.returncode != 0
        assert killed.stderr.count(f"error: {PEER_GONE}") == 1
        assert "polyglance/training" not in killed.stderr  # no traceback of ours
    done = torchrun("-m", "polyglance", *command(toy, out, "--resume"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("model:") == 1
    torch.set_num_threads(1)
    whole = run(toy, tmp_path / "one", *CHANGES)
    assert f"{whole.progress.update} updates" in done.stdout
    resumed = weights(out)
    for name, value in weights(tmp_path / "one").items():
        torch.testing.assert_close(resumed[name], value, rtol=1e-5, atol=1e-5, msg=name)


def test_processes_with_other_data_say_so_once(tmp_path: Path) -> None:
    write_toy(tmp_path / "toy0")
    write_toy(tmp_path / "toy1", photos=168)
    words = " ".join(command(tmp_path / "toy$RANK", tmp_path / "run"))
    done = torchrun("--no-python", "bash", "-c", f"{sys.executable} -m polyglance {words}")
    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1
    assert "the processes of this training differ in data (a digest): " in done.stderr
    assert "exitcode  : 2" in done.stderr
    assert not (tmp_path / "run").exists()


def test_torchrun_starts_nothing_but_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(app, ["study", "list"])
    assert isinstance(done.exception, PolyglanceError)
    assert "run 'polyglance study' without it" in str(done.exception)
