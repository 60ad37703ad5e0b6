"""Compares a walk's result with the known rows, before any file is read."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from polyglance.library.record import Stamp, copy_of
from polyglance.library.stores.protocol import Known

Rows = list[Known]
"""All rows of one file: one, or the frames of a video."""


@dataclass
class Changes:
    """Files by the action that they need."""

    unchanged: int = 0
    moved: dict[str, Rows] = field(default_factory=dict)
    """New path → rows of a renamed file, recognised by its stamp."""
    touched: dict[str, Rows] = field(default_factory=dict)
    """Path → rows of the file that was there; its content may have changed."""
    new: list[str] = field(default_factory=list)
    vanished: dict[str, Rows] = field(default_factory=dict)
    """Old path → rows of a vanished file."""
    stale: list[str] = field(default_factory=list)
    """Ids left by an interrupted sync: their file has newer rows."""


def compare(known: Iterable[Known], seen: Mapping[str, Stamp], gone: Collection[str]) -> Changes:
    """Classify files as unchanged, renamed, touched, new or vanished.

    Args:
        known: all rows.
        seen: files found by the walk.
        gone: paths of rows that the walk should have found but did not.
    """
    found = Changes()
    by_path: dict[str, Rows] = {}
    for row in known:
        by_path.setdefault(row.path, []).append(row)
    for path in gone:
        if path in by_path:
            found.vanished[path] = by_path[path]
    by_stamp = {rows[0].stamp: path for path, rows in found.vanished.items()}
    for path, stamp in seen.items():
        rows = by_path.get(path)
        if rows is None:
            source = by_stamp.pop(stamp, None)
            if source is None:
                found.new.append(path)
            else:
                found.moved[path] = found.vanished.pop(source)
            continue
        current = [row for row in rows if row.stamp == stamp]
        if current:
            found.unchanged += 1
            found.stale += [row.id for row in rows if row.stamp != stamp]
        else:
            found.touched[path] = rows
    return found


class Copies:
    """Numbers of files with equal content, so that each one gets a unique id."""

    def __init__(self, known: Iterable[Known]) -> None:
        self._used: dict[str, set[int]] = {}
        for row in known:
            self._used.setdefault(row.content, set()).add(copy_of(row.id))

    def take(self, content: str) -> int:
        """Take the lowest free number for a content."""
        used = self._used.setdefault(content, set())
        number = next(n for n in range(len(used) + 1) if n not in used)
        used.add(number)
        return number
