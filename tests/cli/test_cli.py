"""The command line as a whole: help, version, exit codes, start-up, interrupts, bad options."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polyglance.core.version import __version__

COMMANDS = ["data", "features", "train", "evaluate", "search", "recipes", "demo"]
HEAVY = ["torch", "onnxruntime", "onnx", "pyarrow", "matplotlib", "jieba", "PIL", "pandas"]


def test_help_lists_the_commands(shell):
    finished = shell("--help")
    assert finished.returncode == 0
    assert [name for name in COMMANDS if name not in finished.stdout] == []


def test_version(shell):
    assert shell("--version").stdout == f"{__version__}\n"


def test_help_starts_with_searching(shell):
    shown = shell("--help").stdout
    titles = ("Search your images", "search ", "Train and ship models", "Data and research")
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)


MAIN_IN_TRY = (
    "from polyglance.cli import main\n"
    "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
)


@pytest.mark.parametrize("arguments", [["--help"], ["recipes"], ["search", "--help"]])
def test_light_commands_import_nothing_heavy(arguments):
    code = (
        f"import sys\nsys.argv = ['polyglance', *{arguments}]\n{MAIN_IN_TRY}"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == "[]\n"


@pytest.mark.parametrize("given", [None, "0"])
def test_torch_is_asked_for_huge_pages_unless_the_user_decides(given):
    name = "THP_MEM_ALLOC_ENABLE"
    show = f"print(os.environ['{name}'])"
    code = f"import os, sys\nsys.argv = ['polyglance', '--version']\n{MAIN_IN_TRY}{show}"
    others = {key: value for key, value in os.environ.items() if key != name}
    environment = others if given is None else {**others, name: given}
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
    assert finished.stdout.splitlines()[-1] == (given or "1")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["recipes", "show", "vsep"], ["unknown recipe 'vsep'", "did you mean 'vsepp'?"]),
        (
            ["recipes", "show", "nce", "--set", "text.encoder.hiden=3"],
            ["text.encoder.hiden", "'hidden'"],
        ),
        (["demo", "--out", "run", "--data", "nowhere"], ["nowhere: no such dataset"]),
        (["search", "nowhere", "pictures", "a dog"], ["nowhere: no such folder"]),
        (["train", "nce", "--data", "x", "--out", "run", "--set", "loss.name"], ["path=value"]),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(shell, tmp_path, arguments, parts):
    finished = shell(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1
    assert [part for part in parts if part not in finished.stderr] == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_unknown_command_and_a_missing_argument_have_exit_code_2(shell):
    assert shell("serch").returncode == 2
    assert "Missing argument" in shell("search").stderr


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
        while not list(tmp_path.glob(".world.*/**/images/*")) and process.poll() is None:
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
        (["train", "vsepp", "--data", "x", "--out", "run", "--languages", ","], "is empty"),
        (["evaluate", "m", "--data", "x", "--languages", ","], "--languages ',': is empty"),
        (["evaluate", "m", "--data", "x", "--kinds", ""], "--kinds '': is empty"),
        (["evaluate", "m", "--crisscrossed", "x", "--folds", "5"], "--folds has no effect with"),
        (["study", "--again", "x", "--seeds", "2"], "--seeds has no effect with --again"),
        (["study", "kadar-table2", "--json"], "--json needs --plan"),
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


def test_more_threads_than_a_system_has_are_refused(shell):
    """Issue 23: --threads 5000 crashed torch."""
    done = shell("train", "nce", "--data", "generated", "--out", "run", "--threads", "5000")
    assert done.returncode == 2
    assert "less than or equal to" in " ".join(done.stderr.split())
