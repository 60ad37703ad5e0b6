"""A small library of images, embedded by the model that the package carries."""

from pathlib import Path

import pytest

from polyglance.library import Library, sync
from polyglance.runtime import shipped
from polyglance.serve import Collection, open_collection
from tests.everyday.conftest import write_picture


def shipped_collection(folder: Path) -> Collection:
    """Six images in a library; skips the test where the package carries no model."""
    pytest.importorskip("lancedb")
    try:
        shipped()
    except Exception as error:
        pytest.skip(str(error))
    for number in range(6):
        write_picture(folder / "pictures" / f"{number % 2}" / f"{number}.jpg", number)
    library = Library.create(folder / "library")
    library.change(folders=[str(folder / "pictures")])
    sync(library, show_progress=False)
    return open_collection(folder / "library", None, folder / "cache", show_progress=False)
