"""What every store has to do, compared with brute force."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.stores.protocol import Store
from tests.library.rows import DIM, MODEL, record, records, unit, vectors
from tests.library.stores.kinds import DURABLE, Kind, kinds

all_kinds = pytest.mark.parametrize("kind", kinds())
durable = pytest.mark.parametrize("kind", kinds(DURABLE))
FILTERS = [
    EVERYTHING,
    Filter(tags=("tenth",)),
    Filter(tags=("tenth", "hundredth")),
    Filter(folder="/pictures/3"),
    Filter(folder="/pictures/3/"),
    Filter(folder="/pict"),
    Filter(since=datetime(2021, 1, 1), before=datetime(2022, 1, 1)),
    Filter(language="de"),
    Filter(language="it's"),
    Filter(smallest=140),
    Filter(folder="/pictures/0", since=datetime(2020, 6, 1), language="", smallest=110),
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    """Stores by the name of their kind, each filled once."""
    return {}


def fill(kind: Kind, filled: dict[str, Store], factory: pytest.TempPathFactory) -> Store:
    if kind.name not in filled:
        store = kind.create(factory.mktemp(kind.name) / "store")
        for start in range(0, kind.size, 1000):
            store.upsert(records(start, 1000), vectors(start, 1000), MODEL)
        store.optimise()
        filled[kind.name] = store
    return filled[kind.name]


@all_kinds
@pytest.mark.parametrize("share", [1, 10, 100])
def test_recall(
    kind: Kind,
    share: int,
    filled: dict[str, Store],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """recall@10 of a tenth and a hundredth of the images as of all."""
    store = fill(kind, filled, tmp_path_factory)
    where = {1: EVERYTHING, 10: Filter(tags=("tenth",)), 100: Filter(tags=("hundredth",))}[share]
    rows = np.arange(0, kind.size, share)
    gallery, queries = unit(vectors(0, kind.size))[rows], unit(vectors(10**6, 40))
    scores = queries @ gallery.T
    found = 0
    for query, row in zip(queries, scores, strict=True):
        expected = {record(int(n)).id for n in rows[np.argsort(-row, kind="stable")[:10]]}
        hits = store.search(query.astype(np.float32) * 3, 10, MODEL, where)
        assert len(hits) == 10
        for hit in hits:
            number = int(hit.record.id, 16)
            assert hit.record == record(number)
            np.testing.assert_allclose(hit.score, row[number // share], atol=1e-5)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        found += len(expected & {hit.record.id for hit in hits})
    assert found / 400 >= kind.least_recall


@all_kinds
@pytest.mark.parametrize("where", FILTERS, ids=str)
def test_filters(
    kind: Kind,
    where: Filter,
    filled: dict[str, Store],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    store = fill(kind, filled, tmp_path_factory)
    expected = {row.id for row in records(0, kind.size) if where.matches(row)}
    assert store.count(where) == len(expected)
    hits = store.search(vectors(5, 1)[0], 20, MODEL, where)
    assert len(hits) == min(20, len(expected))
    assert {hit.record.id for hit in hits} <= expected


def test_the_filters_leave_something_in_and_something_out() -> None:
    counts = [sum(map(where.matches, records(0, 2000))) for where in FILTERS]
    assert counts == [2000, 200, 20, 286, 286, 0, 122, 400, 0, 400, 16]


@all_kinds
def test_equal_scores_are_in_the_order_of_the_paths(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    paths = ["/b.jpg", "/a.jpg", "/c.jpg", "/ä.jpg"]
    rows = [record(number, path=path) for number, path in enumerate(paths)]
    store.upsert(rows, np.repeat(vectors(0, 1), 4, 0), MODEL)
    hits = store.search(vectors(1, 1)[0], 3, MODEL)
    assert [hit.record.path for hit in hits] == ["/a.jpg", "/b.jpg", "/c.jpg"]


@all_kinds
def test_upserts_and_deletes(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    assert (store.count(), store.search(vectors(0, 1)[0], 3, MODEL)) == (0, [])
    store.upsert([], np.empty((0, DIM)), MODEL)
    store.upsert(records(0, 300), vectors(0, 300), MODEL)
    changed = [record(5, path="/new/place.jpg", tags=("it's",)), record(500)]
    store.upsert([record(500, width=1), *changed], vectors(498, 3), MODEL)
    assert store.count() == 301
    assert store.records([changed[1].id, "none", changed[0].id]) == changed[::-1]
    assert store.count(Filter(tags=("it's",))) == 1
    ids = [changed[0].id, changed[1].id, record(7).id]
    expected = unit(vectors(498, 3))[[1, 2]]
    np.testing.assert_allclose(store.vectors(ids[:2]), expected, atol=1e-6)
    hit = store.search(vectors(499, 1)[0], 1, MODEL)[0]
    assert (hit.record.path, round(hit.score, 5)) == ("/new/place.jpg", 1.0)
    store.delete([*ids, "none"])
    store.delete([])
    assert store.count() == 298
    assert store.records(ids) == []
    assert {row.id for row in store.known()} == {r.id for r in records(0, 300)} - set(ids)
    hits = store.search(vectors(499, 1)[0], 298, MODEL)
    assert not {hit.record.id for hit in hits} & set(ids)
    with pytest.raises(PolyglanceError, match="no image"):
        store.vectors([ids[0]])


@all_kinds
def test_what_a_sync_asks(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    rows = [record(1), record(2, path="/caf\udce9.jpg"), record(3, second=2.5)]
    store.upsert(rows, vectors(0, 3), MODEL)
    expected = {(row.id, row.path, row.content, row.stamp) for row in rows}
    assert {tuple(row) for row in store.known()} == expected
    expected_rows = sorted(rows, key=lambda row: row.path)
    assert store.records() == expected_rows
    columns = store.columns()
    assert columns.ids == [row.id for row in expected_rows]
    assert columns.paths == [row.path for row in expected_rows]
    np.testing.assert_allclose(columns.vectors, store.vectors(columns.ids), atol=1e-6)
    part = store.columns(Filter(folder="/pictures/3"))
    assert (part.ids, part.vectors.shape) == ([rows[2].id], (1, DIM))


@all_kinds
def test_vectors_of_another_model_are_refused(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    store.upsert(records(0, 1), vectors(0, 1), MODEL)
    other = "f" * 64
    with pytest.raises(PolyglanceError, match=r"ffffffffffffffff.*reembed LIBRARY --model MODEL"):
        store.upsert(records(1, 1), vectors(1, 1), other)
    with pytest.raises(PolyglanceError, match="reembed"):
        store.search(vectors(0, 1)[0], 1, other)
    assert store.count() == 1


@all_kinds
def test_vectors_that_are_none_are_refused(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    bad = np.ones((2, DIM), np.float32)
    for value in (np.nan, np.inf):
        bad[1, 3] = value
        with pytest.raises(PolyglanceError, match="NaN"):
            store.upsert(records(0, 2), bad, MODEL)
    with pytest.raises(PolyglanceError, match="zero"):
        store.upsert(records(0, 1), np.zeros((1, DIM)), MODEL)
    with pytest.raises(PolyglanceError, match=r"\[1, 5\]: must be \[1, 32\]"):
        store.search(np.ones(5), 1, MODEL)
    assert store.count() == 0


@all_kinds
def test_info(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    store.upsert(records(0, 200), vectors(0, 200), MODEL)
    info = store.info()
    assert (info.model, info.dim, info.count) == (MODEL, DIM, 200)
    assert info.exact == kind.exact


@durable
def test_opened_again(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    store.upsert(records(0, 300), vectors(0, 300), MODEL)
    assert kind.open is not None
    other = kind.open(tmp_path / "store")
    assert other.records() == store.records()
    assert other.info() == store.info()
    store.delete([record(0).id])
    store.upsert([record(400)], vectors(400, 1), MODEL)
    assert other.search(vectors(400, 1)[0], 1, MODEL)[0].record == record(400)
    assert other.count() == 300
    with pytest.raises(PolyglanceError, match="already"):
        kind.create(tmp_path / "store")
    with pytest.raises(PolyglanceError, match="library create"):
        kind.open(tmp_path / "nothing")
