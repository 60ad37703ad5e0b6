"""Registry of the libraries on this machine, so that searching a folder finds its library.

It is in the XDG cache, or in $POLYGLANCE_CACHE, whatever cache folder a command is given: what
one command registers, the others find.
"""

import json
import os
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.library.settings import is_library, read_settings
from polyglance.library.syncing.scan import is_below
from polyglance.storage.files import atomic, cache_dir, has_file, read_json

FILE = "libraries.json"


def register(folder: str | Path) -> None:
    """Remember the location of a library."""
    place = os.path.realpath(folder)
    known = [one for one in registered() if one != place and is_library(Path(one))]
    with atomic(cache_dir() / FILE, "w") as handle:
        json.dump([*known, place], handle, ensure_ascii=True, indent=2)


def registered() -> list[str]:
    """Folders of libraries created on this machine; some may be gone."""
    path = cache_dir() / FILE
    try:
        found = read_json(path) if has_file(path) else []
    except PolyglanceError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def library_of(folder: str | Path) -> Path | None:
    """The library that a folder is, or that covers the folder; the newest of several."""
    place = Path(os.path.realpath(folder))
    if is_library(place):
        return place
    for one in reversed(registered()):
        try:
            settings = read_settings(Path(one))
        except PolyglanceError:  # gone, or damaged
            continue
        if is_below(str(place), settings.folders) and not is_below(str(place), settings.excluded):
            return Path(one)
    return None
