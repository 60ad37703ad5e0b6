"""Embedding a library anew with another model."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.library import Library, sync
from polyglance.library.tasks.reembed import reembed
from tests.library.fakes import FakeModel, library_of, picture, save

pytest.importorskip("lancedb")


def made(place: Path, count: int = 6) -> Library:
    for number in range(count):
        save(place / "pictures" / f"{number}.png", number)
    shutil.copy(place / "pictures" / "0.png", place / "pictures" / "copy.png")
    library = library_of(place / "library", place / "pictures")
    sync(library)
    return library


def check(library: Library, model: FakeModel, numbers: dict[str, int]) -> None:
    rows = library.store.records()
    assert [Path(row.path).name for row in rows] == sorted(numbers)
    expected = model.encode_images([picture(numbers[Path(row.path).name]) for row in rows])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = library.store.vectors([row.id for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-5)


ALL = {**{f"{number}.png": number for number in range(6)}, "copy.png": 0}


def test_all_anew(tmp_path: Path) -> None:
    library, model = made(tmp_path), FakeModel(1)
    old = library.folder / library.settings.store
    reader = Library.open(library.folder, FakeModel(0))
    report = reembed(library, model)
    assert (report.embedded, model.embedded) == (6, 6)
    assert not old.exists()
    with pytest.raises(PolyglanceError, match="open the library again"):
        reader.search(picture(0))
    check(library, model, ALL)
    check(Library.open(library.folder, model), model, ALL)
    assert sync(Library.open(library.folder, model)).unchanged == 7
    with pytest.raises(PolyglanceError, match="nothing to do"):
        reembed(library, model)
    with pytest.raises(PolyglanceError, match="reembed"):
        Library.open(library.folder, FakeModel(0))


def test_an_interrupted_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyglance.library.tasks.reembed.CHUNK", 2)
    library, model = made(tmp_path), FakeModel(1)
    embed = model.embed_pixels

    def stop(pixels: np.ndarray) -> list[np.ndarray | None]:
        if model.embedded >= 4:
            raise KeyboardInterrupt
        return embed(pixels)

    model.embed_pixels = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        reembed(library, model)
    check(Library.open(library.folder, FakeModel(0)), FakeModel(0), ALL)
    again = FakeModel(1)
    report = reembed(Library.open(library.folder), again)
    assert (again.embedded, report.unchanged) == (2, 4)
    check(Library.open(library.folder, again), again, ALL)


def test_files_that_are_gone_or_changed_meanwhile(tmp_path: Path) -> None:
    library, model = made(tmp_path), FakeModel(1)
    (tmp_path / "pictures" / "1.png").unlink()
    save(tmp_path / "pictures" / "2.png", 9)
    (tmp_path / "pictures" / "0.png").unlink()  # its copy is there
    reembed(library, model)
    sync(library)
    left = {"2.png": 9, "3.png": 3, "4.png": 4, "5.png": 5, "copy.png": 0}
    check(library, FakeModel(1), left)


def test_a_library_with_a_former_id_of_its_model_stays_as_it_is(tmp_path: Path) -> None:
    library = made(tmp_path)
    renamed = FakeModel(0)
    renamed.id = "f" * 64
    renamed.ids = renamed.id, library.settings.model
    opened = Library.open(library.folder, renamed)
    save(tmp_path / "pictures" / "new.png", 9)
    assert sync(opened).embedded == 1
    assert renamed.embedded == 1
    assert Path(opened.search(picture(9), top=1)[0].record.path).name == "new.png"
    assert opened.settings.model == library.settings.model
    with pytest.raises(PolyglanceError, match="nothing to do"):
        reembed(opened, renamed)
    stranger = FakeModel(1)
    with pytest.raises(PolyglanceError, match="cannot be compared"):
        Library.open(library.folder, stranger)
