"""A library or folder that changes is read again while the service runs."""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.library.settings import FILE, is_library
from polyglance.library.syncing.scan import scan
from polyglance.serve.access.logs import tell
from polyglance.serve.images.collection import Collection, open_collection
from polyglance.serve.service import Service
from polyglance.storage.digest import short_digest

SECONDS = 2.0
"""Between two looks."""
LOOKING, READING = 0.02, 0.2
"""Shares of the time that looks, and readings of what changed, may take."""


class Reloader:
    """Looks at a place from time to time, and exchanges what a service has when it changed."""

    def __init__(
        self,
        service: Service,
        place: Path,
        model: Path | None = None,
        cache: Path | None = None,
        *,
        seen: str,
        seconds: float = SECONDS,
    ) -> None:
        """
        Args:
            service: that serves it.
            place: of the library or folder.
            model: the one that was named, if one was.
            cache: where indexes are kept; the XDG cache by default.
            seen: the mark of the place from before the service read it.
            seconds: between two looks.
        """
        self.service, self.place, self.model, self.cache = service, place, model, cache
        self.seconds, self._seen = seconds, seen
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reloader", daemon=True)

    def start(self) -> None:
        """Look from time to time."""
        self._thread.start()

    def close(self) -> None:
        """Stop looking; a reading that is under way is left to its end."""
        self._ended.set()

    def look(self) -> bool:
        """Read the place again if it changed; whether it was."""
        mark = mark_of(self.place)
        if mark == self._seen:
            return False
        # Before it is read: what changes meanwhile is another change.
        self._seen = mark
        try:
            self.service.exchange(self._opened())
        except PolyglanceError as error:
            self.service.metrics.failed_reloads.inc()
            tell("reload failed", logging.ERROR, reason=str(error))
            return False
        pictures = len(self.service.now.collection)
        tell("reloaded", pictures=pictures)
        return True

    def _opened(self) -> Collection:
        before = self.service.now.collection
        try:
            return open_collection(self.place, before.model, self.cache, show_progress=False)
        except PolyglanceError:
            if before.library is not None and before.library.store.count() == 0:
                return before.emptied()
        # Embedded anew with another model, it names that one.
        return open_collection(self.place, self.model, self.cache, show_progress=False)

    def _watch(self) -> None:
        pause = self.seconds
        while not self._ended.wait(pause):
            start, share = time.perf_counter(), READING
            try:
                share = READING if self.look() else LOOKING
            except Exception as error:  # the service goes on with what it has
                tell("reload failed", logging.ERROR, error=type(error).__name__)
            pause = max(self.seconds, (time.perf_counter() - start) / share)


def mark_of(place: Path) -> str:
    """What is another after a change: of a library's files, or of those of a folder of images."""
    if is_library(place):
        return _digest(_library_marks(place))
    found = scan([os.path.abspath(place)]).seen
    return _digest(f"{path}\0{stamp}" for path, stamp in sorted(found.items()))


def _library_marks(place: Path) -> Iterator[str]:
    """Times of the settings and of the folders of the store, where every write adds a file.

    Not of the library's own folder: readers put files of SQLite into it.
    """
    facts = os.stat(place / FILE)
    yield f"{facts.st_mtime_ns} {facts.st_ino}"
    for folder, inner, _ in os.walk(place):
        inner.sort()
        if folder != str(place):
            yield f"{folder} {os.stat(folder).st_mtime_ns}"


def _digest(parts: Iterable[str]) -> str:
    return short_digest((part.encode("utf-8", "surrogateescape") for part in parts), 16).hex()
