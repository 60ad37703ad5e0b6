"""A store over shards answers as the reference does, and a library of them is only read."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.library import Filter, Library, sync
from polyglance.library.filters import EVERYTHING
from polyglance.library.settings import Settings, write_settings
from polyglance.library.shards import FORMATS, THUMBNAIL, Mark, write_mark, write_shard
from polyglance.library.stores.memory import MemoryStore
from polyglance.library.syncing.places import add_places
from polyglance.library.tasks.reembed import reembed
from polyglance.storage.folders import Folder
from tests.library.fakes import FakeModel
from tests.library.rows import DIM, MODEL, record, records, unit, vectors

pytest.importorskip("lancedb")
COUNT, ROWS = 330, 60
FILTERS = [
    EVERYTHING,
    Filter(tags=("tenth",)),
    Filter(folder="/pictures/3"),
    Filter(since=datetime(2020, 3, 1), before=datetime(2020, 8, 1)),
    Filter(language="de", smallest=120),
]


def write(place: Path | str, kind: str, first: int = 0, count: int = COUNT) -> None:
    """Shards of made-up images."""
    import pyarrow as pa

    from polyglance.library.stores.columns import to_table

    folder = Folder(place)
    write_mark(folder, Mark(MODEL, "", DIM, "/pictures", kind))
    for start in range(first, first + count, ROWS):
        size = min(ROWS, first + count - start)
        table = to_table(records(start, size), unit(vectors(start, size)).astype(np.float32))
        small = [f"thumbnail {number}".encode() for number in range(start, start + size)]
        write_shard(folder, f"{start:08}", table.append_column(THUMBNAIL, pa.array(small)), kind)


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def opened(place: Path, shards: Path | str, exact_below: int = 10**6) -> Any:
    from polyglance.library.stores.shards import ShardStore

    return ShardStore(str(shards), place, exact_below)


def reference(count: int = COUNT) -> MemoryStore:
    found = MemoryStore(MODEL, DIM)
    found.upsert(records(0, count), vectors(0, count), MODEL)
    return found


@pytest.mark.parametrize("exact_below", [10**6, 100])
def test_it_answers_as_the_reference(tmp_path: Path, kind: str, exact_below: int) -> None:
    """By comparing all, and by an index; nothing but the index is written."""
    write(tmp_path / "shards", kind)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "shards").rglob("*")}
    store = opened(tmp_path / "index", tmp_path / "shards", exact_below)
    store.optimise()
    store = opened(tmp_path / "index", tmp_path / "shards", exact_below)
    assert store.info().exact is (exact_below > COUNT)
    wanted = reference()
    for where in FILTERS:
        assert store.count(where) == wanted.count(where)
        for query in vectors(1000, 3):
            mine = store.search(query, 10, MODEL, where)
            assert [hit.record for hit in mine] == [
                hit.record for hit in wanted.search(query, 10, MODEL, where)
            ]
    columns = store.columns(FILTERS[1])
    assert columns.paths == wanted.columns(FILTERS[1]).paths
    np.testing.assert_allclose(columns.vectors, wanted.columns(FILTERS[1]).vectors, atol=1e-6)
    ids = [record(7).id, "none", record(3).id]
    assert store.records(ids) == wanted.records(ids)
    assert sorted(store.known()) == sorted(wanted.known())
    with pytest.raises(PolyglanceError, match="no image 'none'"):
        store.vectors(ids)
    assert store.thumbnail(record(299).content) == b"thumbnail 299"
    assert store.thumbnail("none") is None
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "shards").rglob("*")}
    assert (tmp_path / "index").exists() is (exact_below < COUNT)


def test_an_index_adds_new_images(tmp_path: Path) -> None:
    write(tmp_path / "shards", "parquet", count=120)
    opened(tmp_path / "index", tmp_path / "shards", 100).optimise()
    write(tmp_path / "shards", "parquet", first=120, count=120)
    store = opened(tmp_path / "index", tmp_path / "shards", 100)
    assert store.info().exact, "the index lacks some"
    store.optimise()
    assert not store.info().exact
    query = vectors(200, 1)[0]
    assert store.search(query, 1, MODEL)[0].record == record(200)
    assert store.search(vectors(5, 1)[0], 1, MODEL)[0].record == record(5)


def test_a_library_of_shards_is_only_read(tmp_path: Path) -> None:
    write(tmp_path / "shards", "parquet", count=70)
    place = tmp_path / "library"
    place.mkdir()
    write_settings(place, Settings(MODEL, "", DIM, "index", shards=str(tmp_path / "shards")))
    library = Library.open(place)
    report = sync(library)
    assert (report.added, report.unchanged, report.removed) == (0, 70, 0)
    assert library.thumbnail(record(3).id) == b"thumbnail 3"
    for change in (
        lambda: add_places(library, [tmp_path]),
        lambda: reembed(library),
        lambda: library.store.upsert([], vectors(0, 0), MODEL),
        lambda: library.store.delete(["a"]),
        lambda: library.thumbnails.put({}),
    ):
        with pytest.raises(PolyglanceError, match="'polyglance embed' again"):
            change()
    with pytest.raises(PolyglanceError, match="cannot be compared"):
        library.store.search(vectors(0, 1)[0], 1, "another model")


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, place = tmp_path / "shards", tmp_path / "library"
    write(shards, "parquet", count=70)
    model = FakeModel()
    model.id, model.ids, model.dim = MODEL, (MODEL,), DIM
    monkeypatch.setattr("polyglance.library.library.load_encoder", lambda given: (model, ""))
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))

    def run(*words: object) -> Result:
        return CliRunner().invoke(app, ["library", *map(str, words)])

    assert run("create", place, "--shards", shards).output == f"library: {place}\n70 added\n"
    assert run("sync", place).output == "70 unchanged\n"
    assert f"place: {shards}\n" in run("info", place).output
    assert json.loads(run("info", place, "--json").output)["shards"] == str(shards)
    refused = run("watch", place)
    assert refused.exception is not None
    assert refused.output == ""


def test_a_folder_without_shards_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="no shards; create them with 'polyglance embed"):
        Library.of_shards(tmp_path / "library", tmp_path)
    (tmp_path / "embed.json").write_text('{"model": 1}')
    with pytest.raises(PolyglanceError, match="damaged"):
        Library.of_shards(tmp_path / "library", tmp_path)
    assert not (tmp_path / "library").exists()


def test_a_cut_shard_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "parquet", count=60)
    path = tmp_path / "shards" / "00000000.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(PolyglanceError, match="not a complete shard"):
        opened(tmp_path / "index", tmp_path)
