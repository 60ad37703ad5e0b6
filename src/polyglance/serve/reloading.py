"""Reloads a library or folder that changes while the service runs."""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.library.settings import FILE, is_library
from polyglance.library.syncing.scan import scan
from polyglance.serve.access.logs import log_event
from polyglance.serve.images.collection import Collection, open_collection
from polyglance.serve.service import Service
from polyglance.storage.digest import short_digest

SECONDS = 2.0
"""Seconds between two checks."""
LOOKING, READING = 0.02, 0.2
"""Largest shares of the time that checks and reloads may take."""


class Reloader:
    """Checks a location from time to time, and replaces the served collection if it changed."""

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
            model: the specified one, if any.
            cache: location of indexes; the XDG cache by default.
            seen: the mark of the place before the service read it.
            seconds: between two checks.
        """
        self.service, self.place, self.model, self.cache = service, place, model, cache
        self.seconds, self._seen = seconds, seen
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reloader", daemon=True)

    def start(self) -> None:
        """Start checking in a thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop checking; a reload in progress is completed."""
        self._ended.set()

    def look(self) -> bool:
        """Reload if the place has changed; whether it has."""
        mark = mark_of(self.place)
        if mark == self._seen:
            return False
        # Set before reading: changes during the reload count as a new change.
        self._seen = mark
        try:
            self.service.exchange(self._opened())
        except PolyglanceError as error:
            self.service.metrics.failed_reloads.inc()
            log_event("reload failed", logging.ERROR, reason=str(error))
            return False
        pictures = len(self.service.now.collection)
        log_event("reloaded", pictures=pictures)
        return True

    def _opened(self) -> Collection:
        before = self.service.now.collection
        try:
            return open_collection(self.place, before.model, self.cache, show_progress=False)
        except PolyglanceError:
            if before.library is not None and before.library.store.count() == 0:
                return before.emptied()
        # A library embedded again with another model refers to that one.
        return open_collection(self.place, self.model, self.cache, show_progress=False)

    def _watch(self) -> None:
        pause = self.seconds
        while not self._ended.wait(pause):
            start, share = time.perf_counter(), READING
            try:
                share = READING if self.look() else LOOKING
            except Exception as error:  # the service continues with what it has
                log_event("reload failed", logging.ERROR, error=type(error).__name__)
            pause = max(self.seconds, (time.perf_counter() - start) / share)


def mark_of(place: Path) -> str:
    """A digest that changes with a library's files, or with those of a folder of images."""
    if is_library(place):
        return _digest(_library_marks(place))
    found = scan([os.path.abspath(place)]).seen
    return _digest(f"{path}\0{stamp}" for path, stamp in sorted(found.items()))


def _library_marks(place: Path) -> Iterator[str]:
    """Modification times of the settings and of the store's folders, where every write adds a file.

    Not of the library's own folder, where readers create SQLite files.
    """
    facts = os.stat(place / FILE)
    yield f"{facts.st_mtime_ns} {facts.st_ino}"
    for folder, inner, _ in os.walk(place):
        inner.sort()
        if folder != str(place):
            yield f"{folder} {os.stat(folder).st_mtime_ns}"


def _digest(parts: Iterable[str]) -> str:
    return short_digest((part.encode("utf-8", "surrogateescape") for part in parts), 16).hex()
