"""The served images: how they are named."""

from pathlib import Path

import pytest

from polyglance.library import Library, sync
from polyglance.library.registered import register
from polyglance.serve import open_collection
from tests.everyday.conftest import write_picture

pytest.importorskip("lancedb")


def test_a_folder_of_a_library_is_one_root(
    tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))
    first, second = tmp_path / "first", tmp_path / "second"
    write_picture(first / "a.png", 0)
    write_picture(first / "deep" / "b.png", 1)
    write_picture(second / "c.png", 2)
    library = Library.create(tmp_path / "mine", model_folder)
    library.change(folders=[str(first), str(second)])
    sync(library, show_progress=False)
    register(library.folder)
    assert open_collection(first).names.names == ["a.png", "deep/b.png"]
    assert open_collection(first / "deep").names.names == ["b.png"]
    found = open_collection(library.folder)
    assert found.names.names == ["first/a.png", "first/deep/b.png", "second/c.png"]
    assert open_collection(second).roots == [str(second), str(first)]
