"""The folders and files that a library keeps up to date."""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.library.library import Library, check_changeable
from polyglance.library.locks import writing
from polyglance.library.syncing.scan import is_below


def add_places(library: Library, places: Iterable[str | Path]) -> None:
    """Add folders or files to a library; `sync` then adds their images.

    Args:
        library: to add to.
        places: a place inside a folder of the library is only un-excluded, if it was removed.
    """
    paths = [_there(place) for place in places]
    with _changing(library):
        folders, excluded = library.settings.folders, library.settings.excluded
        excluded = [path for path in excluded if not is_below(path, paths)]
        hidden = [path for path in paths if is_below(path, excluded)]
        if hidden:
            outer = next(path for path in excluded if is_below(hidden[0], [path]))
            raise PolyglanceError(
                f"{hidden[0]}: is in {outer}, which was removed; add that folder again"
            )
        for place in paths:
            if not is_below(place, folders):
                folders = [*(one for one in folders if not is_below(one, [place])), place]
        library.change(folders=folders, excluded=excluded)


def remove_places(library: Library, places: Iterable[str | Path]) -> None:
    """Remove folders or files from a library permanently; `sync` then removes their images.

    Args:
        library: to remove from. The files themselves are not touched.
        places: folders of the library, or anything below one.
    """
    paths = [os.path.realpath(place) for place in places]
    with _changing(library):
        folders, excluded = library.settings.folders, list(library.settings.excluded)
        for place in paths:
            inner = [folder for folder in folders if is_below(folder, [place])]
            if not inner and not is_below(place, folders):
                known = ", ".join(folders) or "none"
                raise PolyglanceError(f"{place}: not in this library, whose folders are: {known}")
            folders = [folder for folder in folders if folder not in inner]
            if is_below(place, folders) and not is_below(place, excluded):
                excluded = [*(one for one in excluded if not is_below(one, [place])), place]
        excluded = [path for path in excluded if is_below(path, folders)]
        library.change(folders=folders, excluded=excluded)


def check_places(places: Iterable[str | Path]) -> None:
    """Raise for folders or files that do not exist."""
    for place in places:
        _there(place)


def _changing(library: Library) -> AbstractContextManager[None]:
    check_changeable(library)
    return writing(library.folder, wait=False, name="sync.lock")


def _there(place: str | Path) -> str:
    found = os.path.realpath(place)
    if not os.path.exists(found):
        raise PolyglanceError(f"{place}: no such folder or file")
    return found
