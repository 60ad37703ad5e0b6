"""The gallery of a library, or of a folder that a library covers."""

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.errors import IndexWarning, MissingPackage, PolyglanceError
from polyglance.gallery.gallery import Gallery
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.library import Library
from polyglance.library.locks import Locked, Unwritable
from polyglance.library.record import thumbnail_key
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


def library_gallery(
    model: "ExportedModel",
    folder: Path,
    show_progress: bool | None = None,
) -> Gallery | None:
    """The gallery of a library's folder, or of a folder covered by a library of this model.

    The former is used as it is; the latter is synced first, unless another process is doing so or
    the library is read-only.
    None if there is no such library.

    Args:
        model: encodes the queries.
        folder: of a library, or of images.
        show_progress: of the sync; None shows a bar in a terminal, lines elsewhere.
    """
    found = library_of(folder)
    if found is None:
        return None
    if is_library(folder):
        return _gallery(Library.open(folder, model), None)
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
    return _gallery(library, folder, before)


def _gallery(library: Library, folder: Path | None, reported: int | None = None) -> Gallery:
    """The images of a library, or those below a folder, with paths as the user wrote them."""
    real = None if folder is None else os.path.realpath(folder)
    rows = library.store.columns(EVERYTHING if real is None else Filter(folder=real))
    if not rows.ids:
        where = library.folder if folder is None else folder
        raise PolyglanceError(
            f"{where}: there are no images in this folder; run 'polyglance library sync'"
        )
    paths = [Path(path) for path in rows.paths]
    if folder is not None:
        paths = [folder / os.path.relpath(path, real) for path in rows.paths]
    unreadable = [(Path(path), reason) for path, reason in Unreadable(library.folder)]
    return Gallery(
        paths,
        rows.vectors,
        unreadable,
        content=[thumbnail_key(name) for name in rows.ids],
        unit=True,
        reported=len(unreadable) if reported is None else min(reported, len(unreadable)),
    )
