"""Statistics of a library."""

from collections.abc import Iterator
from dataclasses import dataclass

from polyglance.library.library import Library
from polyglance.library.syncing.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class LibraryInfo:
    """Statistics of a library."""

    library: str
    images: int
    """Rows of the store: files, and frames of videos."""
    folders: list[str]
    excluded: list[str]
    model: str
    model_folder: str
    dim: int
    store: str
    shards: str
    """Location of the shards, if the library consists of them."""
    address: str
    """Address of a store in Milvus."""
    exact: bool
    unreadable: int
    bytes: int

    def lines(self) -> Iterator[str]:
        """The statistics as text."""
        way = "exhaustive search" if self.exact else "indexed"
        yield f"library: {self.library}"
        yield f"images: {self.images:,} ({self.store}, {way}, {self.bytes / 2**20:.1f} MB)"
        if self.shards or self.address:
            yield f"place: {self.shards or self.address}"
        yield from (f"folder: {folder}" for folder in self.folders)
        yield from (f"excluded: {path}" for path in self.excluded)
        yield f"model: {self.model[:16]}, dimension {self.dim}, {self.model_folder or 'included'}"
        if self.unreadable:
            yield f"unreadable: {self.unreadable:,}; 'polyglance library sync' lists them"


def library_info(library: Library) -> LibraryInfo:
    """Collect the statistics of a library."""
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
        settings.shards,
        settings.address,
        store.exact,
        len(Unreadable(library.folder)),
        sum(path.stat().st_size for path in files),
    )
