"""A small exported model, and folders of pictures."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.conftest import TOY
from tests.test_missing_packages import BLOCKED, ROOT, TRAIN
from tests.vision.networks.test_backbones import needs

WORDS = ["dog", "hund", "red", "snow", "people"]


def write_model(folder: Path, networks: Path, seed: int = 0) -> Path:
    """An exported model of fresh weights with the smallest image network."""
    import torch

    torch.manual_seed(seed)
    recipe = load_recipe("nce", parse_overrides([*TOY, "image.feature=efficientnet-lite0/global"]))
    embedder = TableEmbedder(recipe, {"": Vocabulary(WORDS)})
    export_model(Model(recipe, embedder, 1280, ["de", "en"]), folder, cache=networks)
    return folder


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an exported model."""
    for mark in [needs("efficientnet-lite0")]:
        if mark.args[0]:
            pytest.skip(mark.kwargs["reason"])
    folder = tmp_path_factory.mktemp("exported")
    return write_model(folder / "model", folder / "networks")


@pytest.fixture(scope="session")
def model(model_folder: Path) -> ExportedModel:
    return load(model_folder)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of the test's own, and no model but those that it names."""
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POLYGLANCE_MODEL", raising=False)


def write_picture(path: Path, seed: int) -> Path:
    """A picture of random patches: no two seeds look alike."""
    path.parent.mkdir(parents=True, exist_ok=True)
    patches = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), np.uint8)
    Image.fromarray(patches).resize((80, 64), Image.Resampling.NEAREST).save(path)
    return path


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Six pictures, one of them in a folder below, with upper-case endings among them."""
    folder = tmp_path / "pictures"
    for number in range(5):
        write_picture(folder / f"{number}.{'PNG' if number % 2 else 'png'}", number)
    write_picture(folder / "deep" / "5.png", 5)
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> Callable:
    """Runs a command in this process with the model as the package's own."""
    monkeypatch.setenv("POLYGLANCE_MODEL", str(model_folder))

    def invoke(*arguments: object):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if isinstance(result.exception, PolyglanceError):
            raise result.exception
        assert result.exit_code == 0, result.output + repr(result.exception)
        return result

    return invoke


@pytest.fixture
def program(tmp_path: Path, model_folder: Path) -> Callable[..., subprocess.Popen]:
    """Starts the program as a user does, where nothing of `[train]` can be imported."""

    def start(*arguments: object, **environment: str) -> subprocess.Popen:
        code = BLOCKED.format(names=TRAIN) + "from polyglance.cli import main; main()"
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "OMP_NUM_THREADS": "1",
            "POLYGLANCE_MODEL": str(model_folder),
            **environment,
        }
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=variables,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start
