"""The images of a library, or of a folder that a library covers."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.errors import IndexWarning, MissingPackage, PolyglanceError
from polyglance.gallery.gallery import Gallery
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.library import Library
from polyglance.library.locks import Locked, Unwritable
from polyglance.library.record import second_of, thumbnail_key
from polyglance.library.registered import library_of
from polyglance.library.settings import is_library, read_settings
from polyglance.library.syncing.sync import sync
from polyglance.library.syncing.unreadable import Unreadable

if TYPE_CHECKING:
    from polyglance.runtime import ExportedModel


def library_model(place: str | Path) -> "ExportedModel | None":
    """The model of the library that a path is or belongs to; None if there is none."""
    found = library_of(place) if Path(place).is_dir() else None
    if found is None:
        return None
    try:
        return Library.open(found).model
    except PolyglanceError:
        if is_library(Path(place)):
            raise
        return None  # the folder can be searched without its library


@dataclass(frozen=True)
class LibraryImages:
    """The images of a library, or those below a folder that it tracks."""

    library: Library
    folder: Path | None = None
    """As the user wrote it; None is the whole library."""
    reported: int | None = None
    """How many unreadable images an earlier search has reported; None is all."""

    @property
    def has_index(self) -> bool:
        """Whether to let the store find candidates, because it has an index or is on a server."""
        return "://" in self.library.settings.address or not self.library.store.info().exact

    def gallery(self) -> Gallery:
        """All images with their embeddings."""
        rows = self.library.store.columns(self._where)
        self._check(len(rows.ids))
        return self._gallery(rows.ids, rows.paths, rows.vectors)

    def candidates(self, vector: np.ndarray, count: int) -> Gallery:
        """The images closest to a query with their embeddings, in the order of their paths.

        Args:
            vector: the query's embedding [D].
            count: largest number of images.
        """
        store, model = self.library.store, self.library.settings.model
        found = [hit.record for hit in store.search(vector, count, model, self._where)]
        found.sort(key=lambda record: record.path)
        ids = [record.id for record in found]
        return self._gallery(ids, [record.path for record in found], store.vectors(ids))

    def summary(self) -> Gallery:
        """The number of images, and the unreadable ones."""
        count = self.library.store.count(self._where)
        self._check(count)
        return replace(self._gallery([], [], np.empty((0, 0), np.float32)), total=count)

    @property
    def _where(self) -> Filter:
        return EVERYTHING if self.folder is None else Filter(folder=os.path.realpath(self.folder))

    def _check(self, count: int) -> None:
        if not count:
            where = self.library.folder if self.folder is None else self.folder
            raise PolyglanceError(
                f"{where}: there are no images in this folder; run 'polyglance library sync'"
            )

    def _gallery(self, ids: Sequence[str], files: Sequence[str], vectors: np.ndarray) -> Gallery:
        paths = [Path(path) for path in files]
        if self.folder is not None:  # paths as the user wrote them
            real = os.path.realpath(self.folder)
            paths = [self.folder / os.path.relpath(path, real) for path in files]
        unreadable = [(Path(path), reason) for path, reason in Unreadable(self.library.folder)]
        many = len(unreadable)
        seconds = ((row, second_of(name)) for row, name in enumerate(ids))
        return Gallery(
            paths,
            vectors,
            unreadable,
            content=[thumbnail_key(name) for name in ids],
            unit=True,
            reported=many if self.reported is None else min(self.reported, many),
            seconds={row: second for row, second in seconds if second is not None},
        )


def library_images(
    model: "ExportedModel",
    folder: Path,
    show_progress: bool | None = None,
) -> LibraryImages | None:
    """The images of a library's folder, or of a folder covered by a library of this model.

    The former is used as it is; the latter is synced first, unless another process is doing so or
    the library is read-only. None if there is no such library.

    Args:
        model: encodes the queries.
        folder: of a library, or of images.
        show_progress: of the sync; None shows a bar in a terminal, lines elsewhere.
    """
    found = library_of(folder)
    if found is None:
        return None
    if is_library(folder):
        return LibraryImages(Library.open(folder, model))
    if read_settings(found).model not in model.ids:
        return None
    try:
        library = Library.open(found, model)
    except MissingPackage:
        return None
    place = os.path.realpath(folder)
    before = len(Unreadable(library.folder))
    try:
        report = sync(library, [place], show_progress=show_progress)
        before = len(report.unreadable) - report.fresh
    except Locked:
        pass
    except Unwritable as error:
        message = f"{error}; it is searched as it was last synced"
        warnings.warn(message, IndexWarning, stacklevel=2)
    return LibraryImages(library, folder, before)
