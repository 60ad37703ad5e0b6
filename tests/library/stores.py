"""The stores that the conformance suite is run on."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from polyglance.library.store import Store
from polyglance.library.stores.memory import MemoryStore
from tests.library.rows import DIM, MODEL


@dataclass
class Kind:
    """A kind of store: how one is made and opened again."""

    name: str
    create: Callable[[Path], Store]
    open: Callable[[Path], Store] | None
    least_recall: float
    size: int


def _lance(name: str, exact_below: int, least_recall: float, size: int) -> Kind:
    def create(folder: Path) -> Store:
        from polyglance.library.stores.lance import LanceStore

        return LanceStore.create(folder, MODEL, DIM, exact_below)

    def reopen(folder: Path) -> Store:
        from polyglance.library.stores.lance import LanceStore

        return LanceStore(folder, exact_below)

    return Kind(name, create, reopen, least_recall, size)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("memory", lambda folder: MemoryStore(MODEL, DIM), None, 1.0, 2000),
        _lance("lance", 10**6, 1.0, 3000),
        _lance("lance-index", 100, 0.99, 6000),
    )
}
DURABLE = [name for name, kind in KINDS.items() if kind.open is not None]


def kinds(names: list[str] | None = None) -> list[object]:
    """Parameters of tests; those of LanceDB are left out where it is not installed."""
    found = []
    for name in names or KINDS:
        without = name.startswith("lance") and find_spec("lancedb") is None
        marks = pytest.mark.skipif(without, reason="lancedb is not installed")
        found.append(pytest.param(KINDS[name], id=name, marks=marks))
    return found
