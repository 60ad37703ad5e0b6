"""The file of a library's folder that says what it is: `library.json`."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from polyglance.core.version import __version__
from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic, has_file, read_json

FILE = "library.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """Which model a library is of, which folders it has, and where its store lies."""

    model: str
    """The model's id."""
    model_folder: str
    """Where it was seen last; "" is the one that is shipped."""
    dim: int
    store: str
    """The folder of the store, below the library's."""
    folders: list[str] = field(default_factory=list)
    """Absolute paths of the folders and files that it keeps current."""
    excluded: list[str] = field(default_factory=list)
    """What below them was removed from the library."""
    shards: str = ""
    """Where the shards of `polyglance embed` lie, of a library that is made of them."""
    address: str = ""
    """Of a store elsewhere, in Milvus, in place of the folder."""
    format: int = FORMAT
    version: str = __version__


def is_library(folder: Path) -> bool:
    """Whether a folder is a library's."""
    return has_file(folder / FILE)


def read_settings(folder: Path) -> Settings:
    """What a library is; anything else in its place is an error."""
    path = folder / FILE
    if not is_library(folder):
        raise PolyglanceError(
            f"{folder}: not a library; make one with 'polyglance library create {folder} FOLDER'"
        )
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise PolyglanceError(f"{path}: not a library of format {FORMAT}; make it anew")
    try:
        found = Settings(**value)
    except TypeError as error:
        raise PolyglanceError(f"{path}: damaged ({error}); make the library anew") from None
    _check(path, found)
    return found


def _check(path: Path, found: Settings) -> None:
    own = (found.model, found.model_folder, found.store, found.shards, found.address)
    texts = (*own, *found.folders, *found.excluded)
    inside = found.store not in ("", ".", "..") and Path(found.store).name == found.store
    if not (all(isinstance(text, str) for text in texts) and isinstance(found.dim, int) and inside):
        raise PolyglanceError(f"{path}: damaged; make the library anew")


def write_settings(folder: Path, settings: Settings) -> None:
    """Write them, atomically; names that are no UTF-8 stay exact."""
    with atomic(folder / FILE, "w") as handle:
        json.dump(asdict(settings), handle, ensure_ascii=True, indent=2)
        handle.write("\n")


def changed(folder: Path, **changes: Any) -> Settings:
    """Change fields of what is there now; the settings that come of it."""
    settings = replace(read_settings(folder), **changes)
    write_settings(folder, settings)
    return settings
