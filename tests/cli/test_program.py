"""The command line as a whole: help, version, exit codes, start-up."""

import subprocess
import sys

import pytest

from polyglance.version import __version__

COMMANDS = ["data", "features", "train", "evaluate", "search", "recipes", "demo"]
HEAVY = ["torch", "onnxruntime", "onnx", "pyarrow", "matplotlib", "jieba", "PIL", "pandas"]


def test_help_lists_the_commands(shell):
    finished = shell("--help")
    assert finished.returncode == 0
    assert [name for name in COMMANDS if name not in finished.stdout] == []


def test_version(shell):
    assert shell("--version").stdout == f"{__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["recipes"], ["search", "--help"]])
def test_light_commands_import_nothing_heavy(arguments):
    code = (
        "import sys\nfrom polyglance.cli import main\n"
        f"sys.argv = ['polyglance', *{arguments}]\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["recipes", "show", "vsep"], ["unknown recipe 'vsep'", "did you mean 'vsepp'?"]),
        (["recipes", "show", "nce", "--set", "text.hiden=3"], ["text.hiden", "'hidden'"]),
        (["demo", "--out", "run", "--data", "nowhere"], ["nowhere: no such dataset"]),
        (["search", "nowhere", "pictures", "a dog"], ["nowhere: not a model"]),
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
