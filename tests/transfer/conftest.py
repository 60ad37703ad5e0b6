"""A dataset, and English models of every kind, trained once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from polyglance.data import load_dataset
from tests.conftest import write_toy
from tests.transfer.sources import World, run


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A folder for runs, and the toy dataset."""
    folder = tmp_path_factory.mktemp("world")
    return folder, load_dataset(str(write_toy(folder / "toy")))


@pytest.fixture(scope="session")
def trained(world: World) -> Callable[[str], Path]:
    """The folder of an English model of a kind."""

    def source(kind: str) -> Path:
        if not (world[0] / f"source-{kind}").exists():
            run(world, f"source-{kind}", kind, "data.languages=[en]")
        return world[0] / f"source-{kind}"

    return source
