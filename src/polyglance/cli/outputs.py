"""Checks of what a command is to write, before its work and not after it."""

import os
from collections.abc import Iterable
from pathlib import Path

from polyglance.errors import PolyglanceError


def check_outputs(files: Iterable[Path | None], folders: Iterable[Path | None] = ()) -> None:
    """Make the folders of files and folders to write; one that cannot be written to is an error."""
    wanted = [file for file in files if file is not None]
    for file in wanted:
        if file.is_dir():
            raise PolyglanceError(f"{file}: is a folder; name a file")
    for folder in [*filter(None, folders), *(file.parent for file in wanted)]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PolyglanceError(f"{folder}: cannot be made ({error.strerror})") from None
        if not os.access(folder, os.W_OK):
            raise PolyglanceError(f"{folder}: no permission to write there; choose another folder")
