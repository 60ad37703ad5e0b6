"""One world for all recipes."""

from functools import partial
from pathlib import Path

import pytest
from torch.nn import functional

from polyglance.text.embedders.subwords.layer import HashedTable
from tests.devices.recipes import World, make_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, bert: Path) -> World:
    """Datasets and files for every packaged recipe."""
    return make_world(tmp_path_factory.mktemp("world"), bert)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let "cuda" be found; `pretend_gpu` makes it work."""
    monkeypatch.setattr(
        "polyglance.numerics.devices.count_devices", lambda kind: int(kind != "mps")
    )
    # FakeTensorMode has no sparse gradients; several processes have dense ones of hashed words.
    dense = partial(functional.embedding, sparse=False)
    monkeypatch.setattr(HashedTable, "forward", lambda self, ids, *_: dense(ids, self.weight))
