"""Watching folders."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.library import Library, SyncReport
from polyglance.library.syncing.watch import watch
from tests.library.fakes import library_of, paths, save

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
