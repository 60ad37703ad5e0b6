"""Kinds of collections (a folder of images, tars, or tables) and their parts."""

import os
import posixpath
from collections.abc import Iterator, Sequence

from polyglance.collection.plan import Part
from polyglance.collection.tables import choose_column, open_table
from polyglance.data.images.read import EXTENSIONS
from polyglance.errors import PolyglanceError
from polyglance.storage.folders import absolute, file_system, is_remote, size_of

TARS = (".tar", ".tar.gz", ".tgz")
TABLES = (".parquet", ".pq")


def find_parts(source: str, known: Sequence[Part], rows: int, column: str) -> Iterator[Part]:
    """The parts of a collection that are not in the plan yet.

    A folder that has tars or tables is a collection of those, otherwise of images.

    Args:
        source: a folder, a tar or a Parquet file; for remote sources also a pattern with `*`.
        known: parts planned before. A tar or table that has changed since is an error.
        rows: images per part, for files.
        column: of a table; checked here.
    """
    root, files = list_files(source)
    tars = [name for name in files if name.endswith(TARS)]
    tables = [name for name in files if name.endswith(TABLES)]
    images = [name for name in files if os.path.splitext(name)[1].lower() in EXTENSIONS]
    if tars and tables:
        raise PolyglanceError(f"{source}: has tars and tables; pass a folder with one kind only")
    if tars or tables:
        yield from _archives(root, tars or tables, known, bool(tars), rows, column)
        return
    planned = {name for part in known for name in part.names}
    if not images and not planned:
        raise PolyglanceError(f"{source}: contains no images, tars or Parquet files")
    fresh = [name for name in images if name not in planned]
    for start in range(0, len(fresh), rows):
        yield Part("files", root, tuple(fresh[start : start + rows]))


def list_files(source: str) -> tuple[str, list[str]]:
    """The folder of a source, and all files below it as sorted relative paths."""
    place = absolute(source)
    if is_remote(place):
        return _remote_files(place)
    if os.path.isfile(place):
        return os.path.dirname(place), [os.path.basename(place)]
    if not os.path.isdir(place):
        raise PolyglanceError(f"{source}: no such folder or file")
    found = []
    for parent, folders, files in os.walk(place, onerror=_closed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inner = os.path.relpath(parent, place)
        kept = (name for name in files if not name.startswith("."))
        found += [name if inner == "." else f"{inner}/{name}" for name in kept]
    return place, sorted(found)


def _closed(error: OSError) -> None:
    raise PolyglanceError(
        f"{error.filename}: the folder cannot be read ({error.strerror}); "
        "change its permissions, or move it away"
    )


def _remote_files(place: str) -> tuple[str, list[str]]:
    system, root = file_system(place)
    scheme = place.partition("://")[0]
    try:
        if "*" in root:
            found = system.glob(root)
            root = posixpath.dirname(root.partition("*")[0])
        elif system.isfile(root):
            found, root = [root], posixpath.dirname(root)
        else:
            found = system.find(root)
    except Exception as error:  # each file system raises its own types
        raise PolyglanceError(f"{place}: cannot be listed ({error})") from None
    if not found:
        raise PolyglanceError(f"{place}: no such folder or file, or nothing in it")
    names = [name.removeprefix(root).lstrip("/") for name in found]
    hidden = (any(piece.startswith(".") for piece in name.split("/")) for name in names)
    kept = [name for name, one in zip(names, hidden, strict=True) if not one]
    return f"{scheme}://{root}", sorted(kept)


def _archives(
    root: str, names: list[str], known: Sequence[Part], tars: bool, rows: int, column: str
) -> Iterator[Part]:
    sizes = {part.place: part.size for part in known}
    for name in names:
        place = f"{root}/{name}"
        size = size_of(place)
        if place not in sizes:
            yield from (
                [Part("tar", place, size=size)] if tars else _table(place, size, rows, column)
            )
        elif sizes[place] != size:
            raise PolyglanceError(
                f"{place}: changed since it was embedded; embed into a new folder"
            )


def _table(place: str, size: int, rows: int, column: str) -> Iterator[Part]:
    """Parts of a table: row groups, small ones combined."""
    file = open_table(place)
    choose_column(place, file.schema_arrow, column)
    start, count = 0, 0
    total = file.metadata.num_row_groups
    for group in range(total):
        count += file.metadata.row_group(group).num_rows
        if count >= rows or group == total - 1:
            yield Part("table", place, groups=(start, group + 1), size=size)
            start, count = group + 1, 0
