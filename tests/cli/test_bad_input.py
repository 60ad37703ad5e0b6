"""Interrupts, unwritable places and empty options, as a user meets them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAIN = "from polyglance.cli import main; main()"


@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "")]
)
def test_an_interrupt_leaves_nothing(tmp_path: Path, number: int, code: int, said: str) -> None:
    command = [sys.executable, "-c", MAIN, "data", "generate", "world", "--photos", "50000"]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=tmp_path,
        # A shell's background jobs ignore Ctrl-C, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not list(tmp_path.glob(".world.*/images/*")) and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, number)
        assert process.stderr is not None
        assert (process.wait(), process.stderr.read()) == (code, said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "vsepp", "--data", "x", "--out", "file"], "file: is a file, not a folder"),
        (["train", "vsepp", "--data", "x", "--out", "file/run"], "file: is a file, not a folder"),
        (["train", "vsepp", "--data", "x", "--out", "run", "--languages", ","], "data.languages"),
        (["evaluate", "m", "--data", "x", "--languages", ","], "--languages ',': names nothing"),
        (["evaluate", "m", "--data", "x", "--kinds", ""], "--kinds '': names nothing"),
        (["data", "generate", "file/world"], "file: cannot be read or written (File exists)"),
        (["data", "convert", "table", "t.csv", "file/out"], "file: cannot be read or written"),
    ],
)
def test_one_sentence_and_nothing_written(shell, tmp_path, arguments, message):
    (tmp_path / "file").touch()
    (tmp_path / "t.csv").write_text("path,caption,language\na.jpg,a dog,en\n")
    finished = shell(*arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1
    assert message in finished.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "t.csv"]
