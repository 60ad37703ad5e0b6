"""The stores that the conformance suite is run on."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from polyglance.library.stores.memory import MemoryStore
from polyglance.library.stores.protocol import Store
from tests.library.rows import DIM, MODEL

SERVER = os.environ.get("POLYGLANCE_TEST_MILVUS")
"""A server of Milvus to run the suite on, as benchmarks/milvus_server.py starts it."""


@dataclass
class Kind:
    """A kind of store: how one is made and opened again."""

    name: str
    create: Callable[[Path], Store]
    open: Callable[[Path], Store] | None
    least_recall: float
    size: int
    package: str = "numpy"
    exact: bool = True
    shared: bool = True
    """Whether several processes may have it open."""


def _lance(name: str, exact_below: int, least_recall: float, size: int, exact: bool) -> Kind:
    def create(folder: Path) -> Store:
        from polyglance.library.stores.lance import LanceStore

        return LanceStore.create(folder, MODEL, DIM, exact_below)

    def reopen(folder: Path) -> Store:
        from polyglance.library.stores.lance import LanceStore

        return LanceStore(folder, exact_below)

    return Kind(name, create, reopen, least_recall, size, "lancedb", exact)


def _milvus(name: str, least_recall: float, size: int, exact: bool, server: str | None) -> Kind:
    def address(folder: Path) -> str:
        if server is None:
            return f"{folder}.db"
        ending = "?exact=yes" if exact else ""
        return f"{server}/t{hashlib.md5(str(folder).encode()).hexdigest()}{ending}"

    def create(folder: Path) -> Store:
        from polyglance.library.stores.milvus import MilvusStore

        return MilvusStore.create(address(folder), MODEL, DIM)

    def reopen(folder: Path) -> Store:
        from polyglance.library.stores.milvus import MilvusStore

        return MilvusStore(address(folder))

    package = "pymilvus" if server else "milvus_lite"
    return Kind(name, create, reopen, least_recall, size, package, exact, server is not None)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("memory", lambda folder: MemoryStore(MODEL, DIM), None, 1.0, 2000),
        _lance("lance", 10**6, 1.0, 3000, True),
        _lance("lance-index", 100, 0.99, 6000, False),
        _milvus("milvus-lite", 1.0, 1000, True, None),
        *(
            [
                _milvus("milvus", 1.0, 3000, True, SERVER),
                _milvus("milvus-index", 0.99, 6000, False, SERVER),
            ]
            if SERVER
            else []
        ),
    )
}
DURABLE = [name for name, kind in KINDS.items() if kind.open is not None]
SHARED = [name for name in DURABLE if KINDS[name].shared]


def kinds(names: list[str] | None = None) -> list[object]:
    """Parameters of tests; those whose package is not installed are left out."""
    found = []
    for name in names or KINDS:
        package = KINDS[name].package
        marks = pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")
        found.append(pytest.param(KINDS[name], id=name, marks=marks))
    return found
