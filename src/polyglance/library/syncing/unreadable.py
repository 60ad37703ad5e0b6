"""Unreadable files: reported, and not tried again until they change."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from polyglance.errors import PolyglanceError
from polyglance.library.media.kinds import readers
from polyglance.library.record import Stamp
from polyglance.storage.files import atomic, has_file, read_json

FILE = "unreadable.json"


class Problem(NamedTuple):
    """A file's stamp, what is wrong with it, and the reader version that tried it."""

    stamp: Stamp
    reason: str
    reader: str


class Unreadable:
    """Path → problem, stored in a library's folder."""

    def __init__(self, folder: Path) -> None:
        self.path, self.reader = folder / FILE, readers()
        self._known: dict[str, Problem] = {}
        self._changed = False
        if has_file(self.path):
            try:
                for path, (stamp, reason, reader) in read_json(self.path).items():
                    self._known[path] = Problem(Stamp(*stamp), reason, reader)
            except (PolyglanceError, AttributeError, TypeError, ValueError):
                self._known = {}  # they will just be tried again

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Paths and reasons, sorted."""
        return iter(sorted((path, one.reason) for path, one in self._known.items()))

    def knows(self, path: str, stamp: Stamp) -> bool:
        """Whether this unchanged file was already tried by the current readers."""
        found = self._known.get(path)
        return found is not None and found.stamp == stamp and found.reader == self.reader

    def add(self, path: str, stamp: Stamp, reason: str) -> None:
        """Record a problem.

        Args:
            path: of the file.
            stamp: its size and time of change when it was read.
            reason: why it cannot be read.
        """
        self._known[path] = Problem(stamp, reason, self.reader)
        self._changed = True

    def forget(self, paths: Collection[str]) -> None:
        """Forget files that are gone or readable again."""
        for path in paths:
            self._changed |= self._known.pop(path, None) is not None

    def save(self) -> None:
        """Write changes to disk."""
        if self._changed:
            with atomic(self.path, "w") as handle:
                json.dump(self._known, handle, ensure_ascii=True)
            self._changed = False
