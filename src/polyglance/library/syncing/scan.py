"""Finds the image files below folders, without reading them."""

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from polyglance.library.media.kinds import kind_of, needed_package
from polyglance.library.record import Stamp


@dataclass
class Scan:
    """The result of a walk."""

    seen: dict[str, Stamp] = field(default_factory=dict)
    """Path → stamp, to recognise an unchanged file."""
    closed: list[tuple[str, str]] = field(default_factory=list)
    """Unreadable folders, with the reason: files below them may still exist."""
    lacking: dict[str, int] = field(default_factory=dict)
    """Missing package → number of files that it would make readable."""


def scan(places: Collection[str], excluded: Collection[str] = ()) -> Scan:
    """All images below folders; hidden files and folders and links to folders are skipped.

    Args:
        places: absolute paths of folders and files; missing ones are skipped.
        excluded: paths to leave out, with everything below them.
    """
    found = Scan()
    left_out = frozenset(excluded)
    missing = {kind: needed_package(kind) for kind in ("image", "raw", "video")}
    for place in places:
        for path, kind, stamp in _files(place, left_out, found):
            package = missing[kind]
            if package is None:
                found.seen[path] = stamp
            else:
                found.lacking[package] = found.lacking.get(package, 0) + 1
    return found


def _files(place: str, excluded: Collection[str], found: Scan) -> Iterator[tuple[str, str, Stamp]]:
    if place in excluded:
        return
    try:
        facts = os.stat(place)
    except FileNotFoundError:
        return
    except OSError as error:
        found.closed.append((place, str(error.strerror)))
        return
    if not stat.S_ISDIR(facts.st_mode):
        kind = kind_of(place)
        if kind is not None and stat.S_ISREG(facts.st_mode):
            yield place, kind, stamp_of(facts)
        return
    folders = [place]
    while folders:
        yield from _entries(folders.pop(), folders, excluded, found)


def _entries(
    folder: str, folders: list[str], excluded: Collection[str], found: Scan
) -> Iterator[tuple[str, str, Stamp]]:
    """The files of a folder; its subfolders are appended to `folders`."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name[0] == "." or entry.path in excluded:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif (kind := kind_of(entry.name)) is not None:
                    try:
                        if entry.is_file():
                            yield entry.path, kind, stamp_of(entry.stat())
                    except OSError:  # deleted meanwhile, or a dangling link
                        continue
    except OSError as error:
        found.closed.append((folder, f"the folder cannot be read ({error.strerror})"))


def stamp_of(facts: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return Stamp(facts.st_size, facts.st_mtime_ns, facts.st_ino)


def is_below(path: str, places: Collection[str]) -> bool:
    """Whether a path is one of the places or below one.

    >>> is_below("/a/b", ["/a"]), is_below("/ab", ["/a"])
    (True, False)
    """
    return any(path == place or path.startswith(place.rstrip(os.sep) + os.sep) for place in places)
