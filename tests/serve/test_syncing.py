"""A library that is synced while it is served."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lancedb")
pytest.importorskip("watchfiles")
from polyglance.errors import PolyglanceError
from polyglance.library import Library, sync
from polyglance.serve.syncing import LibraryWatch, check_watchable
from tests.everyday.conftest import write_picture
from tests.serve.test_command import get, refusal, served

LONGEST = 180.0


@pytest.fixture
def library(tmp_path: Path, model_folder: Path) -> Library:
    write_picture(tmp_path / "pictures" / "0.png", 0)
    found = Library.create(tmp_path / "mine", model_folder)
    found.change(folders=[str(tmp_path / "pictures")])
    sync(found, show_progress=False)
    return found


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.2)


def count(library: Library) -> int:
    return Library.open(library.folder).store.count()


def test_one_command_keeps_itself_current(tmp_path: Path, library: Library) -> None:
    with served(tmp_path, library.folder, "--watch") as (address, logged):
        write_picture(tmp_path / "pictures" / "1.png", 1)
        search = f"{address}v1/search?q=dog"
        until(lambda: json.loads(get(search)[1])["pictures"] == 2)
    events = [json.loads(line) for line in logged if '"event"' in line]
    assert [one["added"] for one in events if one["event"] == "synced"] == [1]
    assert [one["pictures"] for one in events if one["event"] == "reloaded"][-1] == 2


def test_an_empty_library_is_filled(tmp_path: Path, model_folder: Path) -> None:
    (tmp_path / "pictures").mkdir()
    library = Library.create(tmp_path / "mine", model_folder)
    library.change(folders=[str(tmp_path / "pictures")])
    assert "there are no images in this folder" in refusal(tmp_path, library.folder, "--port", 0)
    with served(tmp_path, library.folder, "--watch") as (address, _):
        search = f"{address}v1/search?q=dog"
        assert json.loads(get(search)[1])["reason"] == "empty"
        write_picture(tmp_path / "pictures" / "1.png", 1)
        until(lambda: json.loads(get(search)[1])["pictures"] == 1)


def test_a_process_that_ends_is_started_again(tmp_path: Path, library: Library) -> None:
    watched = LibraryWatch(library.folder, again=0.1)
    watched.start()
    try:
        until(lambda: running(watched) is not None)
        first = running(watched)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        write_picture(tmp_path / "pictures" / "1.png", 1)
        until(lambda: count(library) == 2)
        assert running(watched) not in (None, first)
    finally:
        watched.close()
    assert running(watched) is None


def running(watched: LibraryWatch) -> int | None:
    """The process's id, once it is started."""
    process = watched.process.process
    return None if process is None else process.pid


def test_what_cannot_be_watched_is_refused(
    tmp_path: Path, library: Library, pictures: Path, model_folder: Path
) -> None:
    said = refusal(tmp_path, pictures, "--model", model_folder, "--watch")
    assert "not a library; leave out --watch" in said
    pytest.importorskip("milvus_lite")
    other = Library.create(tmp_path / "other", model_folder, str(tmp_path / "rows.db"))
    other.close()
    with pytest.raises(PolyglanceError, match="only one process can open"):
        check_watchable(other.folder)
    assert "--no-reload" in refusal(tmp_path, library.folder, "--watch", "--no-reload")
