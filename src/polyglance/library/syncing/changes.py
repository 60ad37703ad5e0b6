"""What a walk's result means for what is known, before any file is read."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from polyglance.library.record import Stamp, copy_of
from polyglance.library.stores.protocol import Known

Rows = list[Known]
"""All of one file: one, or the frames of a video."""


@dataclass
class Changes:
    """Files by what has to be done about them."""

    unchanged: int = 0
    moved: dict[str, Rows] = field(default_factory=dict)
    """New path → rows of the file that was renamed, told by its stamp."""
    touched: dict[str, Rows] = field(default_factory=dict)
    """Path → rows of the file that was there; its content may be another now."""
    new: list[str] = field(default_factory=list)
    vanished: dict[str, Rows] = field(default_factory=dict)
    """Old path → rows of a file that is not there any more."""
    stale: list[str] = field(default_factory=list)
    """Ids that an interrupted sync left: their file has newer rows."""


def compare(known: Iterable[Known], seen: Mapping[str, Stamp], gone: Collection[str]) -> Changes:
    """Tell unchanged, renamed, touched, new and vanished files apart.

    Args:
        known: all rows.
        seen: what the walk found.
        gone: paths of rows that the walk would have found if they were there.
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
    """Which of equal files have which number, so that every one gets an id of its own."""

    def __init__(self, known: Iterable[Known]) -> None:
        self._used: dict[str, set[int]] = {}
        for row in known:
            self._used.setdefault(row.content, set()).add(copy_of(row.id))

    def take(self, content: str) -> int:
        """The lowest free number of a content, taken from now on."""
        used = self._used.setdefault(content, set())
        number = next(n for n in range(len(used) + 1) if n not in used)
        used.add(number)
        return number
