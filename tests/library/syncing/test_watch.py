"""Watching folders."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.library import Library, SyncReport
from polyglance.library.locks import writing
from polyglance.library.syncing import watch as module
from polyglance.library.syncing.places import add_places
from polyglance.library.syncing.watch import watch
from polyglance.library.tasks.reembed import reembed
from tests.library.fakes import FakeModel, library_of, paths, save

pytest.importorskip("lancedb")
pytest.importorskip("watchfiles")
LONGEST = 120.0
"""Seconds after which a watch that sees nothing is ended, and the test fails."""


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    timer = threading.Timer(LONGEST, event.set)
    timer.start()
    yield event
    timer.cancel()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.2)


def until(reports: Iterator[SyncReport], library: Library, expected: list[str]) -> list[SyncReport]:
    """Reports until the library has these files."""
    found = []
    while paths(library) != expected:
        found.append(next(reports))
    return found


@pytest.mark.parametrize("poll", [False, True])
def test_changes_are_synced(tmp_path: Path, stop: threading.Event, poll: bool) -> None:
    folder = tmp_path / "pictures"
    save(folder / "a.png", 0)
    # The library lies in the folder that it watches, and must not wake itself.
    library = library_of(folder / "library", folder)
    reports = watch(library, stop, poll)
    assert next(reports).added == 1
    save(folder / "new" / "b.png", 1)
    until(reports, library, ["a.png", "b.png"])
    embedded = library.model.embedded
    (folder / "a.png").rename(folder / "new" / "c.png")
    until(reports, library, ["b.png", "c.png"])
    assert library.model.embedded == embedded
    (folder / "new" / "b.png").unlink()
    seen = until(reports, library, ["c.png"])
    assert sum(report.removed for report in seen) == 1
    stop.set()
    assert list(reports) == []


def test_nothing_to_watch(tmp_path: Path) -> None:
    library = library_of(tmp_path / "library", tmp_path / "none")
    with pytest.raises(PolyglanceError, match="none of its folders exists"):
        next(watch(library))


def test_changes_wait_for_another_process(tmp_path: Path, stop: threading.Event) -> None:
    folder, told = tmp_path / "pictures", list[str]()
    save(folder / "a.png", 0)
    library = library_of(tmp_path / "library", folder)
    free, held = threading.Event(), threading.Event()

    def tell(message: str) -> None:
        told.append(message)
        if "another process" in message:
            free.set()

    def hold() -> None:
        with writing(library.folder, name="sync.lock"):
            held.set()
            free.wait(LONGEST)

    reports = watch(library, stop, tell=tell)
    assert next(reports).added == 1
    other = threading.Thread(target=hold)
    other.start()
    held.wait(LONGEST)
    save(folder / "b.png", 1)
    assert next(reports).added == 1
    other.join()
    assert told == [
        f"watching: {folder}",
        "another process is changing this library; waiting until it has finished",
    ]
    assert paths(library) == ["a.png", "b.png"]
    stop.set()


@pytest.mark.parametrize("poll", [False, True])
def test_a_folder_that_is_added_is_watched(
    tmp_path: Path, stop: threading.Event, poll: bool
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    save(first / "a.png", 0)
    save(second / "b.png", 1)
    library = library_of(tmp_path / "library", first)
    reports = watch(library, stop, poll)
    assert next(reports).added == 1
    add_places(Library.open(library.folder), [second])
    until(reports, library, ["a.png", "b.png"])
    save(second / "c.png", 2)
    until(reports, library, ["a.png", "b.png", "c.png"])
    stop.set()


@pytest.mark.parametrize("poll", [False, True])
def test_a_folder_that_is_created_again_is_watched(
    tmp_path: Path, stop: threading.Event, poll: bool
) -> None:
    folder = tmp_path / "pictures"
    save(folder / "a.png", 0)
    library = library_of(tmp_path / "library", folder)
    reports = watch(library, stop, poll)
    assert next(reports).added == 1
    shutil.rmtree(folder)
    save(folder / "b.png", 1)
    until(reports, library, ["b.png"])
    for number in (2, 3):  # each takes a watch that works
        save(folder / f"{number}.png", number)
        until(reports, library, sorted(["b.png", *(f"{n}.png" for n in range(2, number + 1))]))
    stop.set()


def test_another_folder_in_its_place_is_watched(tmp_path: Path, stop: threading.Event) -> None:
    folder = tmp_path / "pictures"
    save(folder / "a.png", 0)
    save(tmp_path / "other" / "b.png", 1)
    library = library_of(tmp_path / "library", folder)
    reports = watch(library, stop)
    assert next(reports).added == 1
    folder.rename(tmp_path / "away")
    (tmp_path / "other").rename(folder)
    until(reports, library, ["b.png"])
    save(folder / "c.png", 2)
    until(reports, library, ["b.png", "c.png"])
    stop.set()


def test_a_missing_folder_is_watched_once_it_exists(tmp_path: Path, stop: threading.Event) -> None:
    first, second, told = tmp_path / "first", tmp_path / "second", list[str]()
    save(first / "a.png", 0)
    library = library_of(tmp_path / "library", first, second)
    reports = watch(library, stop, tell=told.append)
    assert next(reports).added == 1
    assert told == [
        f"watching: {first}",
        f"{second}: does not exist; it is watched as soon as it does",
    ]
    save(second / "b.png", 1)
    until(reports, library, ["a.png", "b.png"])
    assert told[2:] == [f"watching: {first}, {second}"]
    shutil.rmtree(first)
    shutil.rmtree(second)
    while len(told) < 5:
        next(reports)
    assert told[-1] == f"{second}: does not exist; it is watched as soon as it does"
    save(first / "c.png", 2)
    save(first / "a.png", 0)
    until(reports, library, ["a.png", "b.png", "c.png"])
    stop.set()


def test_lost_changes_are_found_later(
    tmp_path: Path, stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_filter", lambda library: lambda change, path: False)
    monkeypatch.setattr(module, "FULL_SECONDS", 0.1)
    folder = tmp_path / "pictures"
    save(folder / "a.png", 0)
    library = library_of(tmp_path / "library", folder)
    reports = watch(library, stop)
    next(reports)
    save(folder / "b.png", 1)
    until(reports, library, ["a.png", "b.png"])
    stop.set()


def test_a_library_that_is_embedded_again(
    tmp_path: Path, stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = tmp_path / "pictures", FakeModel(1)
    save(folder / "a.png", 0)
    library = library_of(tmp_path / "library", folder)
    reports = watch(library, stop)
    next(reports)
    monkeypatch.setattr("polyglance.runtime.load", lambda place: other)
    monkeypatch.setattr("polyglance.runtime.shipped", lambda: tmp_path)
    reembed(Library.open(library.folder), other, show_progress=False)
    assert next(reports).unchanged == 1
    save(folder / "b.png", 1)
    until(reports, library, ["a.png", "b.png"])
    assert library.store.model == other.id
    stop.set()
