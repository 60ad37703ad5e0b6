"""A library on a read-only drive: searched, inspected and served, but not changed."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polyglance.errors import IndexWarning, PolyglanceError
from polyglance.gallery.library import library_images
from polyglance.library import Library, sync
from polyglance.library.media.thumbnails import Thumbnails
from polyglance.library.registered import register
from polyglance.storage import locks
from tests.library.exported import write_model
from tests.library.fakes import FakeModel, library_of, save
from tests.library.read_only import read_only
from tests.test_missing_packages import ROOT
from tests.vision.networks.test_backbones import needs

pytest.importorskip("lancedb")


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for mark in [needs("efficientnet-lite0")]:
        if mark.args[0]:
            pytest.skip(mark.kwargs["reason"])
    return write_model(tmp_path_factory.mktemp("model"))


def run(folder: Path, tmp_path: Path, *words: object, code: int = 0) -> str:
    """What a command prints while a folder is read-only; of a failure, its stderr."""
    own = {"PYTHONPATH": str(ROOT / "src"), "POLYGLANCE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        read_only(folder, sys.executable, "-m", "polyglance", *map(str, words)),
        cwd=tmp_path,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def refuse_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite as on a read-only drive, where it cannot create the files that WAL needs."""
    connect = sqlite3.connect

    def refused(place: Any, **options: Any) -> sqlite3.Connection:
        if "immutable=1" in str(place):
            return connect(place, **options)
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr("polyglance.library.media.thumbnails.sqlite3.connect", refused)


def test_thumbnails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a ?#.sqlite"
    kept = Thumbnails(path)
    kept.put({"a": b"1"})
    kept.close()
    refuse_writes(monkeypatch)
    found = Thumbnails(path)
    assert (found.get("a"), found.get("b")) == (b"1", None)
    with pytest.raises(PolyglanceError, match="cannot store thumbnails"):
        found.put({"b": b"2"})
    with pytest.raises(PolyglanceError, match="cannot store thumbnails"):
        found.keep(["a"])
    found.close()
    with pytest.raises(PolyglanceError, match="cannot read or store thumbnails"):
        Thumbnails(tmp_path / "none.sqlite")


def test_thumbnails_that_another_process_is_writing(tmp_path: Path) -> None:
    path = tmp_path / "drive" / "a.sqlite"
    path.parent.mkdir()
    kept = Thumbnails(path)
    kept.put({"a": b"1"})
    assert path.with_name("a.sqlite-wal").exists()
    code = f"""
from pathlib import Path
from polyglance.library.media.thumbnails import Thumbnails
print(Thumbnails(Path({str(path)!r})).get("a"))
"""
    done = subprocess.run(
        read_only(path.parent, sys.executable, "-c", code),
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "b'1'\n"
    kept.close()


def test_a_folder_of_a_library_is_searched_as_it_was_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))
    folder, model = tmp_path / "pictures", FakeModel()
    save(folder / "a.png", 0)
    library = library_of(tmp_path / "library", folder, model=model)
    sync(library)
    library.close()
    register(library.folder)
    save(folder / "b.png", 1)
    lock = locks._lock

    def refused(path: Path) -> Any:
        if path.name == "sync.lock":
            raise OSError(30, "Read-only file system", str(path))
        return lock(path)

    monkeypatch.setattr(locks, "_lock", refused)
    with pytest.warns(IndexWarning, match="Read-only.*searched as it was last synced"):
        found = library_images(model, folder)  # type: ignore[arg-type]
    assert found is not None
    assert [path.name for path in found.gallery().paths] == ["a.png"]


def test_commands(tmp_path: Path, model_folder: Path) -> None:
    folder, drive = tmp_path / "pictures", tmp_path / "drive"
    for number in range(3):
        save(folder / f"{number}.png", number)
    drive.mkdir()
    library = Library.create(drive / "library", model_folder)
    library.change(folders=[str(folder)])
    sync(library)
    library.close()
    place = library.folder
    found = json.loads(run(drive, tmp_path, "library", "info", place, "--json"))
    assert found["images"] == 3
    printed = run(drive, tmp_path, "search", place, "dog", "--language", "en", "--top", 2)
    assert len(printed.splitlines()) == 2
    moved = tmp_path / "moved"
    moved.symlink_to(model_folder)
    words = ("search", place, folder / "1.png", "--model", moved)
    assert "pictures" in run(drive, tmp_path, *words)
    told = run(drive, tmp_path, "library", "sync", place, code=2)
    assert told == (
        f"error: {place}: cannot be written to (Read-only file system), so it cannot be changed\n"
    )
    run(drive, tmp_path, "library", "export", place, tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 4
