"""What a library has, in numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

from polyglance.library.library import Library
from polyglance.library.syncing.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class LibraryInfo:
    """A library in numbers."""

    library: str
    images: int
    """Rows of the store: files, and frames of videos."""
    folders: list[str]
    excluded: list[str]
    model: str
    model_folder: str
    dim: int
    store: str
    exact: bool
    unreadable: int
    bytes: int

    def lines(self) -> Iterator[str]:
        """As people read it."""
        way = "compared one and all" if self.exact else "found by an index"
        yield f"library: {self.library}"
        yield f"images: {self.images:,} ({self.store}, {way}, {self.bytes / 2**20:.1f} MB)"
        yield from (f"folder: {folder}" for folder in self.folders)
        yield from (f"left out: {path}" for path in self.excluded)
        yield f"model: {self.model[:16]}, dimension {self.dim}, {self.model_folder or 'shipped'}"
        if self.unreadable:
            yield f"unreadable: {self.unreadable:,}; 'polyglance library sync' names them"


def library_info(library: Library) -> LibraryInfo:
    """Look a library over."""
    settings, store = library.settings, library.store.info()
    files = (path for path in library.folder.rglob("*") if path.is_file())
    return LibraryInfo(
        str(library.folder),
        store.count,
        settings.folders,
        settings.excluded,
        settings.model,
        settings.model_folder,
        settings.dim,
        store.kind,
        store.exact,
        len(Unreadable(library.folder)),
        sum(path.stat().st_size for path in files),
    )
