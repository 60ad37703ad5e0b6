"""Syncs: what is embedded, what only moves, and what goes."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.library import Library, SyncReport, sync
from polyglance.library import sync as sync_function
from polyglance.library.locks import writing
from tests.library.fakes import FakeModel, library_of, paths, picture, save

pytest.importorskip("lancedb")


class World:
    """A folder of three pictures, its library and its model."""

    def __init__(self, place: Path) -> None:
        self.place, self.folder, self.model = place, place / "pictures", FakeModel()
        for number, name in enumerate(["a.png", "b.png", "sub/c.png"]):
            save(self.folder / name, number)
        self.library = library_of(place / "library", self.folder, model=self.model)
        sync(self.library)
        self.model.embedded = 0

    def sync(self, **options: object) -> SyncReport:
        return sync_function(self.library, **options)  # type: ignore[arg-type]

    def vector_of(self, name: str) -> np.ndarray:
        ids = [row.id for row in self.library.store.known() if Path(row.path).name == name]
        assert len(ids) == 1
        return self.library.store.vectors(ids)[0]

    def check(self, expected: dict[str, int]) -> None:
        """The library has these files, with the embeddings of these pictures."""
        assert paths(self.library) == sorted(expected)
        assert self.library.store.count() == len(expected)
        for name, number in expected.items():
            exact = FakeModel().encode_images(picture(number))[0]
            exact /= np.linalg.norm(exact)
            np.testing.assert_allclose(self.vector_of(name), exact, atol=1e-5)
        keys = {record.thumbnail for record in self.library.store.records()}
        assert all(self.library.thumbnails.get(key) for key in keys)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def counts(report: SyncReport) -> dict[str, int]:
    names = ("added", "changed", "moved", "copied", "removed", "captioned", "unchanged")
    return {name: value for name in names if (value := getattr(report, name))}


def test_the_first_sync(world: World) -> None:
    world.check({"a.png": 0, "b.png": 1, "c.png": 2})


def test_nothing_changed_and_nothing_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyglance.library.syncing.sync.content_key", None)
    version = world.library.store._table.version  # type: ignore[attr-defined]
    assert counts(world.sync()) == {"unchanged": 3}
    assert world.model.embedded == 0
    assert world.library.store._table.version == version  # type: ignore[attr-defined]


def test_added(world: World) -> None:
    save(world.folder / "new" / "d.png", 3)
    assert counts(world.sync()) == {"added": 1, "unchanged": 3}
    assert world.model.embedded == 1
    world.check({"a.png": 0, "b.png": 1, "c.png": 2, "d.png": 3})


def test_changed(world: World) -> None:
    save(world.folder / "a.png", 7)
    assert counts(world.sync()) == {"changed": 1, "unchanged": 2}
    assert world.model.embedded == 1
    world.check({"a.png": 7, "b.png": 1, "c.png": 2})


def test_renamed_is_not_even_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyglance.library.syncing.sync.content_key", None)
    names = {row.path: row.id for row in world.library.store.known()}
    (world.folder / "sub").rename(world.folder / "other")
    (world.folder / "a.png").rename(world.folder / "z.png")
    assert counts(world.sync()) == {"moved": 2, "unchanged": 1}
    world.check({"z.png": 0, "b.png": 1, "c.png": 2})
    after = {row.path: row.id for row in world.library.store.known()}
    assert after[str(world.folder / "z.png")] == names[str(world.folder / "a.png")]
    assert str(world.folder / "other" / "c.png") in after


def test_moved_to_another_file_by_content(world: World) -> None:
    (world.folder / "z.png").write_bytes((world.folder / "a.png").read_bytes())
    (world.folder / "a.png").unlink()
    assert counts(world.sync()) == {"moved": 1, "unchanged": 2}
    assert world.model.embedded == 0
    world.check({"z.png": 0, "b.png": 1, "c.png": 2})


def test_swapped(world: World) -> None:
    (world.folder / "a.png").rename(world.folder / "x")
    (world.folder / "b.png").rename(world.folder / "a.png")
    (world.folder / "x").rename(world.folder / "b.png")
    assert counts(world.sync()) == {"moved": 2, "unchanged": 1}
    assert world.model.embedded == 0
    world.check({"a.png": 1, "b.png": 0, "c.png": 2})


def test_touched(world: World) -> None:
    os.utime(world.folder / "a.png", ns=(5, 5))
    assert counts(world.sync()) == {"unchanged": 3}
    assert world.model.embedded == 0
    stamps = {row.path: row.stamp.mtime_ns for row in world.library.store.known()}
    assert stamps[str(world.folder / "a.png")] == 5


def test_copied(world: World) -> None:
    shutil.copy(world.folder / "a.png", world.folder / "a2.png")
    assert counts(world.sync()) == {"copied": 1, "unchanged": 3}
    assert world.model.embedded == 0
    world.check({"a.png": 0, "a2.png": 0, "b.png": 1, "c.png": 2})
    (match, *_) = world.library.search(picture(0))
    assert [Path(r.path).name for r in (match.record, *match.copies)] == ["a.png", "a2.png"]
    (world.folder / "a.png").unlink()
    assert counts(world.sync()) == {"removed": 1, "unchanged": 3}
    world.check({"a2.png": 0, "b.png": 1, "c.png": 2})


def test_new_files_of_equal_content_are_embedded_once(world: World) -> None:
    for name in ("d.png", "e.png", "f.png"):
        save(world.folder / name, 9)
    assert counts(world.sync()) == {"added": 3, "unchanged": 3}
    assert world.model.embedded == 1
    world.check({"a.png": 0, "b.png": 1, "c.png": 2, "d.png": 9, "e.png": 9, "f.png": 9})


def test_equal_content_in_another_chunk(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyglance.library.syncing.sync.CHUNK", 1)
    for name in ("d.png", "e.png"):
        save(world.folder / name, 9)
    assert counts(world.sync()) == {"added": 1, "copied": 1, "unchanged": 3}
    assert world.model.embedded == 1


def test_deleted(world: World) -> None:
    gone = next(r for r in world.library.store.records() if r.path.endswith("b.png"))
    (world.folder / "b.png").unlink()
    assert counts(world.sync()) == {"removed": 1, "unchanged": 2}
    world.check({"a.png": 0, "c.png": 2})
    assert world.library.thumbnails.get(gone.thumbnail) is None


def test_a_missing_drive_removes_nothing(world: World) -> None:
    world.folder.rename(world.place / "unmounted")
    report = world.sync()
    assert "does not exist, so the library keeps its 3 images" in report.notes[0]
    world.folder.mkdir()
    report = world.sync()
    assert "no longer contains images" in report.notes[0]
    assert world.library.store.count() == 3
    assert counts(world.sync(prune=True)) == {"removed": 3}
    assert world.library.store.count() == 0


def test_bad_pictures_are_reported_and_not_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.folder / "bad.jpg").write_bytes(b"no picture")
    (world.folder / "bad2.png").write_bytes((world.folder / "a.png").read_bytes()[:-40])
    report = world.sync()
    assert counts(report) == {"unchanged": 3}
    assert [Path(path).name for path, _ in report.unreadable] == ["bad.jpg", "bad2.png"]
    assert report.fresh == 2
    with monkeypatch.context() as patch:
        patch.setattr("polyglance.library.syncing.sync.content_key", None)
        report = world.sync()
    assert (report.fresh, len(report.unreadable)) == (0, 2)
    save(world.folder / "bad.jpg", 4)
    report = world.sync()
    assert counts(report) == {"added": 1, "unchanged": 3}
    (world.folder / "bad2.png").unlink()
    assert world.sync().unreadable == []


def test_an_image_that_becomes_unreadable_is_removed(world: World) -> None:
    (world.folder / "a.png").write_bytes(b"damaged")
    report = world.sync()
    assert [Path(path).name for path, _ in report.unreadable] == ["a.png"]
    world.check({"b.png": 1, "c.png": 2})


def test_a_folder_that_cannot_be_read_removes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = world.sync()
    assert counts(report) == {"unchanged": 2}
    assert report.unreadable[0][0] == str(world.folder / "sub")
    assert world.library.store.count() == 3


def test_excluded_hidden_and_own_files(world: World) -> None:
    save(world.folder / ".hidden" / "d.png", 3)
    save(world.folder / ".e.png", 4)
    (world.folder / "notes.txt").write_text("no picture")
    world.library.change(excluded=[str(world.folder / "sub")])
    assert counts(world.sync()) == {"removed": 1, "unchanged": 2}
    world.check({"a.png": 0, "b.png": 1})


def test_only_some_places(world: World) -> None:
    save(world.folder / "d.png", 3)
    (world.folder / "b.png").unlink()
    (world.folder / "a.png").rename(world.folder / "sub" / "a.png")
    sub = str(world.folder / "sub")
    only = [sub, str(world.folder / "a.png")]
    assert counts(world.sync(only=only)) == {"moved": 1, "unchanged": 1}
    world.check({"a.png": 0, "b.png": 1, "c.png": 2})


def test_names_that_are_no_text(world: World) -> None:
    name = os.fsdecode(b"caf\xe9.png")
    try:
        save(world.folder / name, 5)
    except OSError:
        pytest.skip("the file system takes UTF-8 alone")
    assert counts(world.sync()) == {"added": 1, "unchanged": 3}
    assert counts(world.sync()) == {"unchanged": 4}
    assert name in paths(world.library)


def test_one_sync_at_a_time(world: World) -> None:
    with (
        writing(world.library.folder, name="sync.lock"),
        pytest.raises(PolyglanceError, match="another process is changing this library"),
    ):
        world.sync()


def test_another_model_is_refused(world: World) -> None:
    with pytest.raises(PolyglanceError, match="reembed"):
        Library.open(world.library.folder, FakeModel(1))


def test_interrupted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped at its fourth picture, a sync has kept three, and embeds the others later."""
    monkeypatch.setattr("polyglance.library.media.embedding.BATCH", 1)
    for number in range(10, 16):
        save(world.folder / f"{number}.png", number)
    embed = world.model.embed_pixels

    def stop(pixels: np.ndarray) -> list[np.ndarray | None]:
        if world.model.embedded == 3:
            raise KeyboardInterrupt
        return embed(pixels)

    world.model.embed_pixels = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        world.sync()
    assert world.library.store.count() == 6
    world.model.embed_pixels = embed  # type: ignore[method-assign]
    assert counts(world.sync()) == {"added": 3, "unchanged": 6}
    assert world.model.embedded == 6
