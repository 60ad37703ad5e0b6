"""Updates the index of a folder, reading only new and changed files."""

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import PIL

from polyglance.core.progress import Bar
from polyglance.data.images.read import content_key, list_images
from polyglance.errors import ImageProblem, IndexWarning, PolyglanceError
from polyglance.gallery.gallery import Gallery, none_readable
from polyglance.gallery.index.lock import exclusive_lock
from polyglance.gallery.index.store import FOLDER, Entry, Index, Stamp, open_index
from polyglance.numerics.similarity import normalise
from polyglance.storage.digest import short_digest
from polyglance.storage.files import cache_dir

if TYPE_CHECKING:
    from polyglance.runtime import ExportedModel

CHUNK = 64
"""Images looked up, read and stored together; a killed process loses at most this many."""
KEEP_SECONDS = 2.0
Found = dict[bytes, tuple[Path, Stamp]]
"""Key of an image in the index → its path as the user wrote it, and the file's stamp."""


def indexed_folder(
    model: "ExportedModel",
    folder: Path,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """The gallery of a folder; nothing is written into the folder.

    Files with the size, time and inode in the index are not opened. A moved or copied file is read
    but not encoded again. Unreadable images are left out and listed.

    Args:
        model: encodes the images; its id names the index.
        folder: searched with all its subfolders.
        cache: location of the index; None is the XDG cache.
        show_progress: None shows a bar in a terminal, lines elsewhere.
    """
    closed: list[tuple[Path, str]] = []
    paths = list_images(folder, closed)
    if not paths:
        hint = f" ({closed[0][0]}: {closed[0][1]})" if closed else ""
        raise PolyglanceError(f"{folder}: there are no images in this folder{hint}")
    root = os.path.realpath(folder)
    # All paths begin with the folder; as strings, for folders of a hundred thousand images.
    named = 0 if folder == Path(".") else len(os.path.join(folder, ""))
    found, gone = _stamps({path: os.path.join(root, str(path)[named:]) for path in paths})
    key = os.fsencode(root)
    with open_index(cache_dir(cache), *model.ids) as index:
        update = _Update(model, index, cache_dir(cache), str(folder), key, show_progress)
        known = update(found, lambda: index.entries(key))
        if not closed:  # otherwise existing images may seem to be gone
            index.drop(known.keys() - found.keys())
    return _gallery(model, found, known, [*closed, *gone], update.read)


def indexed_files(
    model: "ExportedModel",
    paths: Sequence[Path],
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """The gallery of files, in order.

    Args:
        model: encodes the images; its id names the index.
        paths: of the files.
        cache: location of the index; None is the XDG cache.
        show_progress: None shows a bar in a terminal, lines elsewhere.
    """
    found, gone = _stamps({path: os.path.abspath(path) for path in paths})
    with open_index(cache_dir(cache), *model.ids) as index:
        name, key = "these images", b"\0".join(found)
        update = _Update(model, index, cache_dir(cache), name, key, show_progress)
        known = update(found, lambda: index.get(list(found)))
    return _gallery(model, found, known, gone, update.read)


@dataclass
class _Update:
    """Reads files that the index does not know; `read` are their keys."""

    model: "ExportedModel"
    index: Index
    cache: Path
    name: str
    key: bytes
    show: bool | None
    read: set[bytes] = field(default_factory=set)

    def __call__(
        self, found: Found, entries: Callable[[], dict[bytes, Entry]]
    ) -> dict[bytes, Entry]:
        known = entries()
        new = _unread(found, known)
        if not new:
            return known
        place = self.cache / FOLDER
        if self.index.reason:
            _warn(f"the index cannot be stored in {place} ({self.index.reason})")
        lock = place / f"{short_digest([self.key, self.model.id], 8).hex()}.lock"
        with exclusive_lock(
            lock, lambda: _warn(f"another search is indexing {self.name}; waiting")
        ) as old:
            todo = _unread(found, entries()) if old else new
            _read(self.model, self.index, {key: found[key] for key in todo}, self.show)
        self.read |= set(todo)
        return entries()


def _warn(message: str) -> None:
    warnings.warn(message, IndexWarning, stacklevel=5)


def reader() -> str:
    """Versions of the image decoders: if they change, unreadable files are tried again."""
    heif = "+heif" if find_spec("pillow_heif") else ""
    return f"pillow {PIL.__version__}{heif}"


def _stamps(places: Mapping[Path, str]) -> tuple[Found, list[tuple[Path, str]]]:
    """Files by key, with both paths and stamp; and those that are gone or dangling links."""
    found: Found = {}
    gone = []
    for path, absolute in places.items():
        try:
            facts = os.stat(absolute)
        except OSError as error:
            gone.append((path, (error.strerror or "cannot be read").lower()))
            continue
        inode = facts.st_ino & (2**63 - 1)  # SQLite's integers are signed
        key = os.fsencode(absolute)
        found[key] = path, Stamp(facts.st_size, facts.st_mtime_ns, inode)
    return found, gone


def _unread(found: Found, known: dict[bytes, Entry]) -> list[bytes]:
    """Keys of images that are new or changed, or that another decoder failed on."""
    own = reader()
    return [
        key
        for key, (_, stamp) in found.items()
        if (entry := known.get(key)) is None
        or entry.stamp != stamp
        or (entry.problem and entry.reader != own)
    ]


def _read(model: "ExportedModel", index: Index, files: Found, show: bool | None) -> None:
    """Encode files and store the results, chunk by chunk."""
    keys = list(files)
    kept: list[Entry] = []
    last = time.monotonic()
    with Bar("indexing", len(keys), "img", show) as bar:
        try:
            for start in range(0, len(keys), CHUNK):
                for entry in _entries(model, index, files, keys[start : start + CHUNK]):
                    kept.append(entry)
                    bar.advance()
                    if time.monotonic() - last > KEEP_SECONDS:
                        index.put(kept)
                        kept, last = [], time.monotonic()
                index.put(kept)
                kept, last = [], time.monotonic()
        finally:
            index.put(kept)


def _entries(
    model: "ExportedModel", index: Index, files: Found, keys: Sequence[bytes]
) -> Iterator[Entry]:
    """Entries of files, known contents first."""
    contents: dict[bytes, bytes] = {}
    for key in keys:
        path, stamp = files[key]
        try:
            contents[key] = bytes.fromhex(content_key(path))
        except (
            ImageProblem
        ) as problem:  # may be fixed without changing the file: not stored for long
            yield Entry(key, stamp, b"", problem=problem.reason, reader="")
    seen = index.with_content(list(contents.values()))
    new: dict[bytes, list[bytes]] = {}
    for key, content in contents.items():
        if content in seen:
            yield Entry(key, files[key][1], content, seen[content])
        else:
            new.setdefault(content, []).append(key)
    found = model.images.embed_files([files[same[0]][0] for same in new.values()])
    for (content, same), result in zip(new.items(), found, strict=True):
        for key in same:
            yield _entry(model, key, files[key][1], content, result)


def _entry(
    model: "ExportedModel",
    key: bytes,
    stamp: Stamp,
    content: bytes,
    result: np.ndarray | ImageProblem,
) -> Entry:
    if isinstance(result, ImageProblem):
        return Entry(key, stamp, content, problem=result.reason, reader=reader())
    if not np.isfinite(result).all():
        reason = "the model's embedding is not finite"
        return Entry(key, stamp, content, problem=reason, reader=reader())
    unit = normalise(result[None])[0] if model.similarity_name == "cosine" else result
    return Entry(key, stamp, content, unit.astype("<f2").tobytes())


def _gallery(
    model: "ExportedModel",
    found: Found,
    known: dict[bytes, Entry],
    problems: list[tuple[Path, str]],
    fresh: set[bytes],
) -> Gallery:
    """The index's entries for the existing files, in their order."""
    good = [key for key in found if key in known and not known[key].problem]
    bad = [key for key in found if key in known and known[key].problem]
    bad.sort(key=lambda key: key not in fresh)  # those reported before come last
    problems = [*problems, *((found[key][0], known[key].problem) for key in bad)]
    if not good:
        raise none_readable(problems)
    vectors = np.frombuffer(b"".join(known[key].vector for key in good), "<f2")
    return Gallery(
        [found[key][0] for key in good],
        vectors.reshape(len(good), model.dim),
        problems,
        content=[known[key].content.hex() for key in good],
        unit=model.similarity_name == "cosine",
        reported=sum(key not in fresh for key in bad),
    )
