"""The index of a folder: what is read again, what is kept, and what goes wrong."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import ImageProblem, IndexWarning, PolyglanceError
from polyglance.gallery.index import indexed_files, indexed_folder, open_index, update
from polyglance.gallery.index.lock import exclusive_lock
from polyglance.numerics.similarity import normalise
from polyglance.runtime import ExportedModel, load
from tests.everyday.conftest import write_model, write_picture


@pytest.fixture
def encoded(model: ExportedModel, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the pictures that the model encoded, in order."""
    names: list[str] = []
    embed = model.images.embed_files

    def note(paths: Sequence[Path]) -> Iterator[np.ndarray | ImageProblem]:
        names.extend(path.name for path in paths)
        return embed(paths)

    monkeypatch.setattr(model.images, "embed_files", note)
    return names


def names(gallery) -> list[str]:
    return [path.name for path in gallery.paths]


def database(cache: Path) -> Path:
    (found,) = (cache / "index").glob("*.sqlite")
    return found


def test_embeddings_are_the_models_own(model, pictures):
    found = indexed_folder(model, pictures)
    assert names(found) == ["0.png", "1.PNG", "2.png", "3.PNG", "4.png", "5.png"]
    assert found.unit
    expected = normalise(model.encode_images(found.paths))
    np.testing.assert_allclose(found.embeddings, expected, atol=1e-3)
    again = indexed_folder(model, pictures)
    assert np.array_equal(again.embeddings, found.embeddings)


def test_nothing_is_opened_twice(model, pictures, encoded, monkeypatch):
    first = indexed_folder(model, pictures)
    assert len(encoded) == 6

    def refuse(path: Path) -> str:
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr(update, "content_key", refuse)
    assert indexed_folder(model, pictures).paths == first.paths
    assert len(encoded) == 6


def test_the_folder_stays_as_it_is(model, pictures):
    before = {path: path.stat().st_mtime_ns for path in [pictures, *pictures.rglob("*")]}
    indexed_folder(model, pictures)
    after = {path: path.stat().st_mtime_ns for path in [pictures, *pictures.rglob("*")]}
    assert after == before


def test_only_what_changed_is_encoded(model, pictures, encoded):
    before = indexed_folder(model, pictures)
    encoded.clear()
    write_picture(pictures / "0.png", 70)
    write_picture(pictures / "6.png", 71)
    after = indexed_folder(model, pictures)
    assert encoded == ["0.png", "6.png"]
    assert not np.array_equal(after.embeddings[0], before.embeddings[0])
    assert names(after)[5:] == ["6.png", "5.png"]
    assert np.array_equal(after.embeddings[[1, 2, 3, 4, 6]], before.embeddings[1:])


def test_the_same_size_and_another_time_is_a_change(model, pictures, encoded):
    indexed_folder(model, pictures)
    encoded.clear()
    raw = (pictures / "1.PNG").read_bytes()
    (pictures / "0.png").write_bytes(raw)
    os.utime(pictures / "0.png", ns=(1, 1))
    found = indexed_folder(model, pictures)
    assert encoded == []  # its content is known from the other file
    assert np.array_equal(found.embeddings[0], found.embeddings[1])
    assert found.places()[0] == [0, 1]


def test_moved_and_removed_files(model, pictures, encoded):
    before = indexed_folder(model, pictures)
    encoded.clear()
    (pictures / "0.png").rename(pictures / "deep" / "moved.png")
    (pictures / "2.png").unlink()
    after = indexed_folder(model, pictures)
    assert encoded == []
    assert names(after) == ["1.PNG", "3.PNG", "4.png", "5.png", "moved.png"]
    assert np.array_equal(after.embeddings[-1], before.embeddings[0])


def test_folders_share_what_they_have_in_common(model, pictures, encoded, tmp_path):
    indexed_folder(model, pictures)
    encoded.clear()
    assert names(indexed_folder(model, pictures / "deep")) == ["5.png"]
    (tmp_path / "link").symlink_to(pictures)
    linked = indexed_folder(model, tmp_path / "link")
    assert linked.paths[0] == tmp_path / "link" / "0.png"
    assert names(indexed_files(model, [pictures / "3.PNG", pictures / "1.PNG"])) == [
        "3.PNG",
        "1.PNG",
    ]
    assert encoded == []


@pytest.mark.parametrize("name", [".", "..", "../pictures", "./deep/.."])
def test_folders_by_any_name(model, pictures, encoded, monkeypatch, name):
    indexed_folder(model, pictures)
    encoded.clear()
    monkeypatch.chdir(pictures)
    found = indexed_folder(model, Path(name))
    assert encoded == []
    assert {path.resolve() for path in found.paths} == set(pictures.rglob("*.[pP]*"))


def test_a_neighbour_with_a_longer_name_is_not_part_of_a_folder(model, tmp_path):
    write_picture(tmp_path / "a" / "0.png", 0)
    write_picture(tmp_path / "ab" / "1.png", 1)
    indexed_folder(model, tmp_path / "ab")
    assert names(indexed_folder(model, tmp_path / "a")) == ["0.png"]
    assert names(indexed_folder(model, tmp_path / "ab")) == ["1.png"]


def test_two_models_never_share_vectors(model, model_folder, pictures, tmp_path):
    networks = model_folder.parent / "networks"
    other = load(write_model(tmp_path / "other", networks, seed=1))
    first, second = indexed_folder(model, pictures), indexed_folder(other, pictures)
    assert np.abs(first.embeddings - second.embeddings).max() > 0.1
    assert len(list((tmp_path / "cache" / "index").glob("*.sqlite"))) == 2


def test_unreadable_pictures_are_listed_and_not_tried_again(model, pictures, encoded, monkeypatch):
    (pictures / "bad.jpg").write_bytes(b"no picture")
    first = indexed_folder(model, pictures)
    assert [(path.name, reason[:12]) for path, reason in first.unreadable] == [
        ("bad.jpg", "not an image")
    ]
    assert (len(first), first.reported) == (6, 0)
    encoded.clear()
    again = indexed_folder(model, pictures)
    assert (again.unreadable, again.reported, encoded) == (first.unreadable, 1, [])
    monkeypatch.setattr(update, "reader", lambda: "another one")
    assert indexed_folder(model, pictures).reported == 0
    assert encoded == ["bad.jpg"]


def test_a_link_that_leads_nowhere(model, pictures):
    (pictures / "lost.jpg").symlink_to(pictures / "nothing.jpg")
    found = indexed_folder(model, pictures)
    assert [(path.name, why) for path, why in found.unreadable] == [
        ("lost.jpg", "no such file or directory")
    ]


def test_no_picture_can_be_read(model, tmp_path):
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "bad.jpg").write_bytes(b"no picture")
    with pytest.raises(PolyglanceError, match=r"no image could be read .*bad\.jpg"):
        indexed_folder(model, tmp_path / "only")


def test_names_that_are_not_utf_8(model, pictures, encoded):
    odd = Path(os.fsdecode(os.fsencode(pictures) + b"/caf\xe9.png"))
    write_picture(odd, 9)
    assert odd in indexed_folder(model, pictures).paths
    encoded.clear()
    assert odd in indexed_folder(model, pictures).paths
    assert encoded == []


def test_entries_before_an_interruption_are_kept(model, pictures, monkeypatch):
    embed = model.images.embed_files
    with monkeypatch.context() as patch:

        def interrupted(paths: Sequence[Path]) -> Iterator[np.ndarray | ImageProblem]:
            yield from embed(paths[:4])
            raise KeyboardInterrupt

        patch.setattr(model.images, "embed_files", interrupted)
        with pytest.raises(KeyboardInterrupt):
            indexed_folder(model, pictures)
    rest: list[str] = []
    monkeypatch.setattr(
        model.images,
        "embed_files",
        lambda paths: (rest.extend(path.name for path in paths), embed(paths))[1],
    )
    assert len(indexed_folder(model, pictures)) == 6
    assert rest == ["4.png", "5.png"]


@pytest.mark.parametrize("damage", [b"no database at all, and long enough to be read", b""])
def test_a_damaged_index_is_made_again(model, pictures, tmp_path, damage):
    expected = indexed_folder(model, pictures)
    database(tmp_path / "cache").write_bytes(damage)
    assert np.array_equal(indexed_folder(model, pictures).embeddings, expected.embeddings)


def test_a_cache_that_cannot_be_written_to(model, pictures, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(IndexWarning, match="the index cannot be stored in .*file/cache/index"):
        found = indexed_folder(model, pictures, tmp_path / "file" / "cache")
    assert len(found) == 6


def test_an_index_that_may_only_be_read_is_used(model, pictures, tmp_path, encoded, monkeypatch):
    indexed_folder(model, pictures)
    encoded.clear()
    connect = sqlite3.connect

    def read_only(path: object, **more: object) -> sqlite3.Connection:
        if isinstance(path, Path):  # root may write whatever the permissions are
            return connect(f"{path.as_uri()}?mode=ro", uri=True)
        return connect(path, **more)

    monkeypatch.setattr("polyglance.gallery.index.store.sqlite3.connect", read_only)
    assert len(indexed_folder(model, pictures)) == 6
    assert encoded == []
    write_picture(pictures / "new.png", 8)
    with pytest.warns(IndexWarning, match="readonly database"):
        assert len(indexed_folder(model, pictures)) == 7
    assert encoded == ["new.png"]


def test_the_second_process_waits_and_finds_the_work_done(tmp_path):
    path, waited = tmp_path / "lock", []
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)

        def free() -> None:
            waited.append(True)
            fcntl.flock(handle, fcntl.LOCK_UN)

        with exclusive_lock(path, free) as others:
            assert others
    assert waited == [True]
    with exclusive_lock(path, lambda: pytest.fail("nobody holds it")) as others:
        assert not others


def test_an_unmounted_disk_forgets_nothing(model, pictures, tmp_path, encoded):
    indexed_folder(model, pictures)
    shutil.move(pictures, tmp_path / "away")
    pictures.mkdir()
    with pytest.raises(PolyglanceError, match="there are no images in this folder"):
        indexed_folder(model, pictures)
    pictures.rmdir()
    shutil.move(tmp_path / "away", pictures)
    encoded.clear()
    assert len(indexed_folder(model, pictures)) == 6
    assert encoded == []


def test_entries_come_back_as_they_were(tmp_path):
    entry = update.Entry(b"/a/\xff.png", update.Stamp(1, 2**62, 3), b"c" * 16, b"v", "", "")
    with open_index(tmp_path, "m") as index:
        index.put([entry])
        assert index.reason == ""
    with open_index(tmp_path, "m") as index:
        assert index.entries(b"/a") == index.get([b"/a/\xff.png", b"/b"]) == {entry.path: entry}
        assert index.with_content([b"c" * 16, b"d"]) == {b"c" * 16: b"v"}
        index.drop([entry.path])
        assert index.entries(b"/a") == {}


def test_an_index_under_a_former_id_is_used_and_another_models_is_not(tmp_path):
    entry = update.Entry(b"/a/b.png", update.Stamp(1, 2, 3), b"c" * 16, b"v", "", "")
    with open_index(tmp_path, "old") as index:
        index.put([entry])
    with open_index(tmp_path, "new", "old") as index:
        assert index.entries(b"/a") == {entry.path: entry}
    with open_index(tmp_path, "other") as index:
        assert index.entries(b"/a") == {}
    with open_index(tmp_path, "new") as index:  # nothing was made under the new id
        assert index.entries(b"/a") == {}
