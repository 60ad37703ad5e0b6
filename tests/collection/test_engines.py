"""The same shards from processes and from Ray, with the package's own model."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyglance.collection.run as run_module
import polyglance.collection.worker as worker_module
from polyglance.collection import embed_collection
from polyglance.collection.plan import Part
from polyglance.collection.worker import Worker
from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.library import Filter, Library, sync
from polyglance.library.shards import Shard, read_mark, shard_names
from polyglance.storage.folders import Folder
from tests.collection.sources import write_folder, write_tar

pytest.importorskip("lancedb")
pytestmark = pytest.mark.slow


def vectors(out: Path) -> dict[str, np.ndarray]:
    folder = Folder(out)
    kind = read_mark(folder).kind
    found = {}
    for name in shard_names(folder, kind):
        for row in Shard(folder, name, kind).read(["path", "vector"]).to_pylist():
            assert row["path"] not in found, "there twice"
            found[row["path"]] = np.array(row["vector"])
    return found


def test_processes_and_a_library_of_their_shards(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", 9, bad=(4,))
    out = tmp_path / "out"
    report = embed_collection(tmp_path / "in", out, rows=3, workers=2, show_progress=False)
    assert (report.images, report.problems, report.parts, report.fresh) == (8, 1, 3, 3)
    again = embed_collection(tmp_path / "in", out, rows=3, show_progress=False)
    assert (again.images, again.fresh) == (8, 0)
    with pytest.raises(PolyglanceError, match="was started with rows '3', not '5'"):
        embed_collection(tmp_path / "in", out, rows=5)
    library = Library.of_shards(tmp_path / "library", out)
    assert library.store.count() == 8
    assert library.store.count(Filter(folder=str(tmp_path / "in" / "0"))) == 4
    match = library.search(tmp_path / "in" / "0" / "002.png")[0]
    assert Path(match.record.path).name == "002.png"
    assert match.score > 0.999
    assert library.thumbnail(match.record.id)
    write_folder(tmp_path / "in", 11, bad=(4,))
    embed_collection(tmp_path / "in", out, rows=3, workers=1, show_progress=False)
    synced = sync(library)
    assert (synced.added, synced.unchanged) == (2, 8)
    assert library.store.count() == 10


def test_a_source_without_images_leaves_the_folder_free(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(PolyglanceError, match="wrong: no such folder"):
            embed_collection(tmp_path / "wrong", tmp_path / "out", show_progress=False)
    write_folder(tmp_path / "in", 2)
    report = embed_collection(tmp_path / "in", tmp_path / "out", workers=1, show_progress=False)
    assert report.images == 2


def test_ray_is_looked_for_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    write_folder(tmp_path / "in", 1)
    with pytest.raises(PolyglanceError, match="the engine 'ray' needs the package 'ray'"):
        embed_collection(tmp_path / "in", tmp_path / "out", engine="ray", show_progress=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("tar", [False, True])
def test_the_total_is_shown_if_it_is_known(
    tmp_path: Path, tar: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = []

    class Noted(Bar):
        def __init__(self, description: str, total: int | None, *more: Any) -> None:
            totals.append(total)
            super().__init__(description, total, *more)

    monkeypatch.setattr(run_module, "Bar", Noted)
    monkeypatch.setitem(run_module.RUN, "processes", lambda *arguments: iter(()))
    if tar:
        write_tar(tmp_path / "in" / "a.tar", 2)
    else:
        write_folder(tmp_path / "in", 2)
    embed_collection(tmp_path / "in", tmp_path / "out", show_progress=False)
    assert totals == [None if tar else 2]


def test_a_crash_costs_the_image_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies at one picture, wherever it is decoded, is started again."""
    script = tmp_path / "site" / "sitecustomize.py"
    script.parent.mkdir()
    script.write_text(CRASHING)
    monkeypatch.setenv(
        "PYTHONPATH", f"{script.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    write_folder(tmp_path / "in", 5)
    report = embed_collection(tmp_path / "in", tmp_path / "out", workers=1, show_progress=False)
    assert (report.images, report.problems) == (4, 1)
    said = (tmp_path / "out" / "problems.jsonl").read_text()
    assert "003.png" in said
    assert "crashes the process" in said


CRASHING = """
import os, sys

def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith("003.png"):
        os._exit(11)

sys.addaudithook(hook)
"""


def test_a_model_of_another_id_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", 1)
    embed_collection(tmp_path / "in", tmp_path / "out", workers=1, show_progress=False)
    mark = tmp_path / "out" / "embed.json"
    mark.write_text(mark.read_text().replace(read_mark(Folder(tmp_path / "out")).model, "0" * 64))
    with pytest.raises(PolyglanceError, match="was started with model"):
        embed_collection(tmp_path / "in", tmp_path / "out", show_progress=False)
    worker = Worker(str(tmp_path / "out"))
    with pytest.raises(PolyglanceError, match="is not the one that"):
        worker(Part("files", str(tmp_path / "in"), ("0/000.png",), number=0), lambda done: None)
    worker.close()
    assert worker_module.MOST_CRASHES > 1


def test_ray_gives_the_same(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data")
    write_tar(tmp_path / "in" / "a.tar", 5, bad=(1,))
    write_tar(tmp_path / "in" / "b.tar", 4, first=5)
    given = {"rows": 3, "workers": 1, "show_progress": False}
    here = embed_collection(tmp_path / "in", tmp_path / "here", **given)
    try:
        there = embed_collection(
            tmp_path / "in", tmp_path / "there", engine="ray", kind="lance", **given
        )
    finally:
        ray.shutdown()
    assert (there.images, there.problems) == (here.images, here.problems) == (8, 1)
    wanted, found = vectors(tmp_path / "here"), vectors(tmp_path / "there")
    assert wanted.keys() == found.keys()
    for path, vector in wanted.items():
        np.testing.assert_allclose(found[path], vector, atol=1e-5)
