"""Checks of a command's output files and folders, before its work."""

import os
from collections.abc import Iterable
from pathlib import Path

from polyglance.errors import PolyglanceError


def check_outputs(files: Iterable[Path | None], folders: Iterable[Path | None] = ()) -> None:
    """Create the parent folders of files, and folders; one that is not writable is an error."""
    wanted = [file for file in files if file is not None]
    for file in wanted:
        if file.is_dir():
            raise PolyglanceError(f"{file}: is a folder; pass a file")
    for folder in [*filter(None, folders), *(file.parent for file in wanted)]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PolyglanceError(f"{folder}: cannot be created ({error.strerror})") from None
        if not os.access(folder, os.W_OK):
            raise PolyglanceError(f"{folder}: no permission to write there; choose another folder")
