"""A small exported model, a folder of images, and a service of both."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from polyglance.runtime import add_background, load
from polyglance.runtime.background import Background
from polyglance.runtime.model import ExportedModel
from polyglance.serve import Collection, make_app, open_collection
from tests.everyday.conftest import write_model, write_picture
from tests.vision.networks.test_backbones import needs


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an exported model of five words."""
    mark = needs("efficientnet-lite0")
    if mark.args[0]:
        pytest.skip(mark.kwargs["reason"])
    folder = tmp_path_factory.mktemp("exported")
    return write_model(folder / "model", folder / "networks")


@pytest.fixture(scope="session")
def model(model_folder: Path) -> ExportedModel:
    return load(model_folder)


@pytest.fixture(scope="session")
def strict_folder(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with a background by which no image looks like anything."""
    import shutil

    folder = tmp_path_factory.mktemp("strict") / "model"
    shutil.copytree(model_folder, folder)
    dim = load(folder).dim
    rows = np.random.default_rng(0).normal(size=(2, 16, dim)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    add_background(folder, Background(rows[0], rows[1], 1000.0))
    return folder


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven images, one of them below another folder, one a copy, and one that is none."""
    folder = tmp_path_factory.mktemp("served") / "pictures"
    for number in range(5):
        write_picture(folder / f"{number}.png", number)
    write_picture(folder / "deep" / "5.jpg", 5)
    (folder / "deep" / "copy.png").write_bytes((folder / "0.png").read_bytes())
    (folder / "bad.jpg").write_bytes(b"none")
    return folder


@pytest.fixture(scope="session")
def opened(
    pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], Collection]:
    cache = tmp_path_factory.mktemp("cache")
    return lambda model: open_collection(pictures, model, cache, show_progress=False)


@pytest.fixture(scope="session")
def collection(opened: Callable[[Path], Collection], model_folder: Path) -> Collection:
    return opened(model_folder)


@pytest.fixture(scope="session")
def client(collection: Collection) -> TestClient:
    return TestClient(make_app(collection), base_url="http://localhost")
