import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT, or a skip."""
    pytest.importorskip("transformers")
    from tests.text.tiny_bert import write_bert

    return write_bert(tmp_path_factory.mktemp("bert") / "tiny")
