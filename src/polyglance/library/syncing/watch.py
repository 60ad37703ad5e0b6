"""Keeps a library up to date while its folders change."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from polyglance.errors import PolyglanceError, needed_by
from polyglance.library.library import Library, check_changeable
from polyglance.library.locks import Locked
from polyglance.library.settings import Settings
from polyglance.library.syncing.scan import is_below
from polyglance.library.syncing.sync import SyncReport, sync

SETTLE_MS = 1600
"""Longest time in which changes are collected before a sync."""
READY_MS = 200
LOOK_SECONDS = 2.0
"""Seconds between checks of the library's settings and of which folders exist."""
FULL_SECONDS = 900.0
"""Seconds between syncs of the whole library: the system can lose reports of changes."""


def watch(
    library: Library,
    stop: threading.Event | None = None,
    poll: bool = False,
    show_progress: bool | None = None,
    tell: Callable[[str], None] | None = None,
) -> Iterator[SyncReport]:
    """Sync the whole library, then changes, until `stop` is set; yields a report per sync.

    Folders that are added to the library, created or mounted later are watched from then on. While
    another process is changing the library, changes are collected.

    Args:
        library: to keep up to date.
        stop: ends the watch.
        poll: check periodically, for network drives that do not report changes.
        show_progress: of the syncs; None shows a bar in a terminal, lines elsewhere.
        tell: called with messages: what is watched, and what cannot be.
    """
    check_changeable(library)
    with needed_by("watching a library", "library"):
        import watchfiles  # noqa: F401
    watching = _Watch(library, stop or threading.Event(), poll, show_progress, tell)
    if not watching.state.there:
        raise PolyglanceError(
            f"{library.folder}: none of its folders exists, so there is nothing to watch"
        )
    yield from watching()


class _State(NamedTuple):
    """What a watch depends on."""

    settings: Settings
    roots: dict[str, tuple[int, int] | None]
    """Folder → its device and inode, which differ once it is mounted or created again; None if it
    does not exist."""

    @classmethod
    def of(cls, library: Library) -> "_State":
        """The current state."""
        library.refresh()
        return cls(library.settings, {path: _identity(path) for path in library.settings.folders})

    @property
    def there(self) -> list[str]:
        """The folders that exist."""
        return [path for path, identity in self.roots.items() if identity is not None]


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


class _Watch:
    def __init__(
        self,
        library: Library,
        stop: threading.Event,
        poll: bool,
        show_progress: bool | None,
        tell: Callable[[str], None] | None,
    ) -> None:
        self.library, self.stop, self.poll, self.show = library, stop, poll, show_progress
        self.tell = tell or (lambda message: None)
        self.state = _State.of(library)
        self._told: tuple[list[str], list[str]] = [], []
        self._pending: set[str] | None = None
        """Changed paths that are not synced yet; None is the whole library."""
        self._waiting = False
        self._synced = self._looked = 0.0

    def __call__(self) -> Iterator[SyncReport]:
        while not self.stop.is_set():
            self._announce()
            self._pending, self._looked = None, time.monotonic()
            for changes in self._rounds():
                if self._pending is not None:
                    self._pending |= {path for _, path in changes}
                report = self._sync()
                if report is not None:
                    yield report
                if self._is_outdated(changes):
                    break
            self.state = _State.of(self.library)

    def _rounds(self) -> Iterator[set[tuple[Any, str]]]:
        """Changes, or an empty set from time to time; the folders are being watched by then."""
        import watchfiles

        if not self.state.there:
            while not self.stop.wait(READY_MS / 1000):
                yield set()
            return
        found = watchfiles.watch(
            *self.state.there,
            watch_filter=_filter(self.library),
            stop_event=self.stop,
            debounce=SETTLE_MS,
            rust_timeout=READY_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
            force_polling=self.poll or None,
        )
        try:
            with closing(found):
                yield from found
        except FileNotFoundError:  # a folder has just been deleted
            self.stop.wait(READY_MS / 1000)
        except OSError as error:
            raise PolyglanceError(
                f"{self.library.folder}: its folders cannot be watched ({error}); use --poll"
            ) from None

    def _sync(self) -> SyncReport | None:
        """Sync what is pending; None if nothing is, or if another process is changing the library,
        after which this is tried again."""
        if time.monotonic() - self._synced > FULL_SECONDS:
            self._pending = None
        if self._pending == set():
            return None
        try:
            report = sync(self.library, self._pending, show_progress=self.show)
        except Locked:
            if not self._waiting:
                self.tell("another process is changing this library; waiting until it has finished")
            self._waiting = True
            return None
        if self._pending is None:
            self._synced = time.monotonic()
        self._pending, self._waiting = set(), False
        return report

    def _is_outdated(self, changes: set[tuple[Any, str]]) -> bool:
        """Whether the folders have to be watched anew."""
        # A folder that is created again can have its former inode.
        if any(kind.name != "modified" and path in self.state.roots for kind, path in changes):
            return True
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return False
        self._looked = time.monotonic()
        return _State.of(self.library) != self.state

    def _announce(self) -> None:
        """Say what is watched and what is missing, if that has changed."""
        there = self.state.there
        missing = [path for path in self.state.roots if path not in there]
        if (there, missing) == self._told:
            return
        self._told = there, missing
        if there:
            self.tell(f"watching: {', '.join(there)}")
        for path in missing:
            self.tell(f"{path}: does not exist; it is watched as soon as it does")


def _filter(library: Library) -> Callable[[Any, str], bool]:
    """Ignore the library's own files, which change with every sync."""
    own = [str(library.folder)]

    def wanted(change: Any, path: str) -> bool:
        return not is_below(path, own)

    return wanted
