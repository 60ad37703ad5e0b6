"""Reloads a library or folder that changes while the service runs."""

import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from polyglance.errors import PolyglanceError
from polyglance.library.library import THUMBNAILS
from polyglance.library.settings import FILE, is_library
from polyglance.library.syncing.scan import scan
from polyglance.serve.access.logs import log_event
from polyglance.serve.encoding.engine import Served
from polyglance.serve.images.collection import Collection, open_collection
from polyglance.storage.digest import short_digest

SECONDS = 2.0
"""Seconds between two checks."""
LONGEST = 30.0
"""Seconds for which changes that follow one another are awaited before they are read."""
LOOKING, READING = 0.02, 0.2
"""Largest shares of the time that checks and reloads may take."""


class Searching(Protocol):
    """What searches a collection that can be replaced."""

    @property
    def now(self) -> Served:
        """The collection, and the engine that encodes queries."""

    def exchange(self, collection: Collection) -> None:
        """Search another collection from now on."""

    def reload_failed(self) -> None:
        """Called if the changed images cannot be read; the former ones stay."""


class Reloader:
    """Checks a location from time to time, and replaces the served collection if it changed.

    A sync writes several times: changes are read when none has followed since the last check.
    """

    def __init__(
        self,
        service: Searching,
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
        self._awaited: tuple[str, float] | None = None
        """A mark that may still change, and when the first change was noticed."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reloader", daemon=True)

    def start(self) -> None:
        """Start checking in a thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop checking; a reload in progress is completed."""
        self._ended.set()

    def look(self, patient: bool = False) -> bool:
        """Reload if the place has changed; whether it has.

        Args:
            patient: wait for another check if it may still be changing.
        """
        mark = mark_of(self.place)
        if mark == self._seen:
            self._awaited = None
            return False
        if patient and not self._settled(mark):
            return False
        self._awaited = None
        # Set before reading: changes during the reload count as a new change.
        self._seen = mark
        try:
            self.service.exchange(self._opened())
        except PolyglanceError as error:
            self.service.reload_failed()
            log_event("reload failed", logging.ERROR, reason=str(error))
            return False
        pictures = len(self.service.now.collection)
        log_event("reloaded", pictures=pictures)
        return True

    def _settled(self, mark: str) -> bool:
        """Whether the place is as at the last check, or has been changing for long."""
        last, since = self._awaited or (None, time.monotonic())
        self._awaited = mark, since
        return mark == last or time.monotonic() - since >= LONGEST

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
                share = READING if self.look(patient=True) else LOOKING
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
    """The settings, and modification times of the store's folders, where every write adds a file.

    Not those of the library's own folder, where readers create SQLite files, and of the settings,
    which every sync writes; except for a store that is elsewhere, of whose changes only these tell.
    """
    settings = (place / FILE).read_text(encoding="utf-8")
    yield settings
    if _is_elsewhere(settings):
        for name in (FILE, THUMBNAILS, f"{THUMBNAILS}-wal"):
            if (place / name).exists():
                facts = os.stat(place / name)
                yield f"{name} {facts.st_mtime_ns} {facts.st_size}"
    for folder, inner, _ in os.walk(place):
        inner.sort()
        if folder != str(place):
            yield f"{folder} {os.stat(folder).st_mtime_ns}"


def _is_elsewhere(settings: str) -> bool:
    """Whether a library's store is not in its folder: in Milvus, or shards."""
    try:
        found = json.loads(settings)
    except ValueError:  # reported when it is opened
        return False
    return isinstance(found, dict) and bool(found.get("address") or found.get("shards"))


def _digest(parts: Iterable[str]) -> str:
    return short_digest((part.encode("utf-8", "surrogateescape") for part in parts), 16).hex()
