"""The index of the store on disk: near-duplicates, of which it has to find the closest."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.stores.exact import ExactIndex
from polyglance.library.stores.protocol import Store
from tests.library.rows import MODEL, record, records

lance = pytest.importorskip("polyglance.library.stores.lance")
pytest.importorskip("lancedb")
COUNT, DIM, CENTRES, QUERIES, TOP = 10_000, 64, 50, 40, 10
OWN_PARTITION = lance.PARTITION
TENTH = Filter(tags=("tenth",))


def near_duplicates() -> np.ndarray:
    """float32 [COUNT, DIM]: around each centre at random 200, all about as far from one another."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(CENTRES, DIM))
    found = centres[np.arange(COUNT) % CENTRES] + 0.5 * generator.normal(size=(COUNT, DIM))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def queries() -> np.ndarray:
    """float32 [QUERIES, DIM], between the centres, as captions are between images."""
    found = np.random.default_rng(1).normal(size=(QUERIES, DIM))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


@pytest.fixture(autouse=True, scope="module")
def small_partitions() -> Iterator[None]:
    """As many partitions of 10,000 vectors as else of a quarter of a million."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lance, "PARTITION", COUNT // 32)
        yield


@pytest.fixture(scope="module")
def store(small_partitions: None, tmp_path_factory: pytest.TempPathFactory) -> Store:
    made: Store = lance.LanceStore.create(tmp_path_factory.mktemp("index") / "store", MODEL, DIM, 1)
    made.upsert(records(0, COUNT), near_duplicates(), MODEL)
    made.optimise()
    return made


def recall(store: Store, where: Filter = EVERYTHING) -> float:
    """recall@10 against brute force."""
    kept = np.array([where.matches(row) for row in records(0, COUNT)])
    exact, found = ExactIndex(near_duplicates()), 0
    for query in queries():
        wanted = {record(int(row)).id for row in exact.top(query, TOP, kept)[0]}
        found += len(wanted & {hit.record.id for hit in store.search(query, TOP, MODEL, where)})
    return found / TOP / QUERIES


@pytest.mark.parametrize("where", [EVERYTHING, TENTH, Filter(tags=("hundredth",))], ids=str)
def test_the_closest_of_near_duplicates_are_found(store: Store, where: Filter) -> None:
    assert recall(store, where) >= 0.98


@pytest.mark.parametrize(("name", "value"), [("PROBES", 1), ("REFINE", 1)])
def test_settings_that_are_too_low_are_noticed(
    store: Store, name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, name, value)
    assert recall(store) < 0.98


def test_a_filter_that_probes_too_little_is_noticed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "ALL", 5)
    assert recall(store, TENTH) < 0.98


def test_the_index_is_of_the_kind_and_size_that_the_settings_say(store: Store) -> None:
    (index,) = store._table.list_indices()  # type: ignore[attr-defined]
    assert index.index_type == lance.INDEX
    stats = store._table.index_stats(index.name)  # type: ignore[attr-defined]
    assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (COUNT, 0)


def test_larger_stores_probe_more_partitions_but_a_smaller_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lance, "PARTITION", OWN_PARTITION)
    counts = [10**power for power in range(1, 10)]
    probed = [lance.probes(count, filtered=False) for count in counts]
    whole = [lance.partitions(count) for count in counts]
    shares = [one / all_ for one, all_ in zip(probed, whole, strict=True)]
    assert probed == sorted(probed)
    assert shares == sorted(shares, reverse=True)
    assert probed[:4] == whole[:4] == [1, 1, 1, 1]
    assert lance.probes(10**9, filtered=True) >= max(whole)


def test_an_index_of_another_kind_is_replaced(tmp_path: Path) -> None:
    from lancedb.index import HnswSq

    made = lance.LanceStore.create(tmp_path / "store", MODEL, DIM, 1)
    made.upsert(records(0, 500), near_duplicates()[:500], MODEL)
    made._table.create_index("vector", config=HnswSq(distance_type="cosine"))
    made.optimise()
    assert [index.index_type for index in made._table.list_indices()] == [lance.INDEX]
    hits = made.search(near_duplicates()[3], 1, MODEL)
    assert [hit.record.id for hit in hits] == [record(3).id]
