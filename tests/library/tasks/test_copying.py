"""Copies of libraries, between kinds of stores."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.library import Library, sync
from polyglance.library.tasks import copying as module
from polyglance.library.tasks.copying import copy_library
from polyglance.library.tasks.reembed import reembed
from tests.library.fakes import FakeModel, library_of, picture, save

pytest.importorskip("lancedb")
pytest.importorskip("milvus_lite")
ROOT = Path(__file__).parents[3]
COUNT = 12


@pytest.fixture
def source(tmp_path: Path) -> Library:
    """A library with copies, tags that need quoting, and an unreadable file."""
    folder = tmp_path / "pictures"
    for number in range(COUNT - 1):
        save(folder / f"{number:02}.png", number)
    (folder / 'a "copy".png').write_bytes((folder / "00.png").read_bytes())
    (folder / "bad.png").write_bytes(b"none")
    library = library_of(tmp_path / "library", folder)
    sync(library, show_progress=False)
    assert library.store.count() == COUNT
    return library


def same(one: Library, other: Library) -> None:
    assert other.store.records() == one.store.records()
    ids = [row.id for row in one.store.records()]
    np.testing.assert_allclose(other.store.vectors(ids), one.store.vectors(ids), atol=1e-6)
    for name in ids:
        assert other.thumbnail(name) == one.thumbnail(name) is not None
    for field in ("model", "model_folder", "dim", "folders", "excluded"):
        assert getattr(other.settings, field) == getattr(one.settings, field)


def test_there_and_back(source: Library, tmp_path: Path) -> None:
    address = str(tmp_path / "copy.db")
    report = copy_library(source, tmp_path / "copy", address, show=False)
    assert (report.copied, report.there, report.compared) == (COUNT, 0, COUNT)
    middle = Library.open(tmp_path / "copy", source.model)
    assert middle.store.info().kind == "milvus"
    same(source, middle)
    report = copy_library(middle, tmp_path / "back", show=False)
    assert report.compared == COUNT
    back = Library.open(tmp_path / "back", source.model)
    assert back.store.info().kind == "lance"
    same(source, back)
    assert sync(back, show_progress=False).unchanged == COUNT
    with pytest.raises(PolyglanceError, match="a library already"):
        copy_library(source, tmp_path / "copy", address)
    with pytest.raises(PolyglanceError, match="a store already"):
        copy_library(source, tmp_path / "other", address)
    middle.close()


def test_a_library_in_milvus_is_synced_searched_and_reembedded(tmp_path: Path) -> None:
    folder, model = tmp_path / "pictures", FakeModel()
    for number in range(5):
        save(folder / f"{number}.png", number)
    library = Library.create(tmp_path / "library", model, str(tmp_path / "own.db"))
    library.change(folders=[str(folder)])
    assert sync(library, show_progress=False).added == 5
    (folder / "4.png").unlink()
    (folder / "0.png").rename(folder / "moved.png")
    report = sync(library, show_progress=False)
    assert (report.moved, report.removed, report.unchanged) == (1, 1, 3)
    match = library.search(picture(0), top=1)[0]
    assert (Path(match.record.path).name, round(match.score, 4)) == ("moved.png", 1.0)
    other = FakeModel(1)
    assert reembed(library, other, show_progress=False).embedded == 4
    assert library.settings.address.endswith(f"own.db?collection=images_{other.id[:16]}")
    opened = Library.open(library.folder, other)
    assert Path(opened.search(picture(2), top=1)[0].record.path).name == "2.png"
    with pytest.raises(PolyglanceError, match="reembed"):
        Library.open(library.folder, model)
    library.close()


def test_stopped_it_goes_on(
    source: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 4)
    code = f"""
import os, signal, sys
from polyglance.library import Library
from polyglance.library.tasks import copying
from polyglance.library.stores.milvus import MilvusStore
copying.CHUNK = 4
upsert = MilvusStore.upsert
def last(self, records, *rest):
    upsert(self, records, *rest)
    if self.count() == 8:
        os.kill(os.getpid(), signal.SIGKILL)
MilvusStore.upsert = last
copying.copy_library(Library.open({str(source.folder)!r}), {str(tmp_path / "copy")!r},
                     {str(tmp_path / "copy.db")!r}, False)
"""
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=False)
    assert done.returncode == -9
    with pytest.raises(PolyglanceError, match="not a library"):
        Library.open(tmp_path / "copy")
    with pytest.raises(PolyglanceError, match="unfinished copy"):
        copy_library(source, tmp_path / "copy")
    report = copy_library(source, tmp_path / "copy", str(tmp_path / "copy.db"), show=False)
    assert (report.copied, report.there, report.compared) == (COUNT - 8, 8, COUNT)
    copy = Library.open(tmp_path / "copy", source.model)
    same(source, copy)
    copy.close()


def test_a_store_that_keeps_something_else_is_noticed(
    source: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polyglance.library.stores.lance import LanceStore

    upsert = LanceStore.upsert

    def wrong(self: LanceStore, records: list, vectors: np.ndarray, model: str) -> None:
        vectors = vectors.copy()
        vectors[3, 0] += 0.01
        upsert(self, records, vectors, model)

    monkeypatch.setattr(LanceStore, "upsert", wrong)
    path = source.store.records()[3].path
    with pytest.raises(PolyglanceError, match=f"{path}: differs between the copy"):
        copy_library(source, tmp_path / "copy", show=False)


def test_the_command(source: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))
    words = ["library", "copy", str(source.folder), str(tmp_path / "copy")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "12 images copied, 0 already there; all 12 were read back and verified" in done.output
    same(source, Library.open(tmp_path / "copy", source.model))
