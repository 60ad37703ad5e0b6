"""The folders and files that a library keeps current."""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.library.library import Library, check_changeable
from polyglance.library.locks import writing
from polyglance.library.syncing.scan import is_below


def add_places(library: Library, places: Iterable[str | Path]) -> None:
    """Take folders or files into a library; `sync` puts their images in.

    Args:
        library: that shall have them.
        places: one that lies in a folder of the library is only wanted again, if it was removed.
    """
    given = [_there(place) for place in places]
    with _changing(library):
        folders, excluded = library.settings.folders, library.settings.excluded
        excluded = [path for path in excluded if not is_below(path, given)]
        hidden = [path for path in given if is_below(path, excluded)]
        if hidden:
            outer = next(path for path in excluded if is_below(hidden[0], [path]))
            raise PolyglanceError(
                f"{hidden[0]}: lies in {outer}, which was removed; add that folder again"
            )
        for place in given:
            if not is_below(place, folders):
                folders = [*(one for one in folders if not is_below(one, [place])), place]
        library.change(folders=folders, excluded=excluded)


def remove_places(library: Library, places: Iterable[str | Path]) -> None:
    """Take folders or files out of a library, which they stay out of; `sync` does the rest.

    Args:
        library: that shall not have them any more. The files themselves are left alone.
        places: one of the library's folders, or anything below one.
    """
    given = [os.path.realpath(place) for place in places]
    with _changing(library):
        folders, excluded = library.settings.folders, list(library.settings.excluded)
        for place in given:
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
    """Raise for folders or files that are not there."""
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
