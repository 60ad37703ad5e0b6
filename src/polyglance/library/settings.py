"""The settings of a library, in the file `library.json` of its folder."""

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
    """The model of a library, its folders, and the location of its store."""

    model: str
    """The model's id."""
    model_folder: str
    """Its last known folder; "" is the included model."""
    dim: int
    store: str
    """The folder of the store, inside the library's."""
    folders: list[str] = field(default_factory=list)
    """Absolute paths of the folders and files that it keeps up to date."""
    excluded: list[str] = field(default_factory=list)
    """Places below them that were removed from the library."""
    shards: str = ""
    """Location of the shards of `polyglance embed`, if the library consists of them."""
    address: str = ""
    """Address of a store in Milvus, instead of the folder."""
    format: int = FORMAT
    version: str = __version__


def is_library(folder: Path) -> bool:
    """Whether a folder is a library."""
    return has_file(folder / FILE)


def read_settings(folder: Path) -> Settings:
    """Read a library's settings; anything else is an error."""
    path = folder / FILE
    if not is_library(folder):
        raise PolyglanceError(
            f"{folder}: not a library; create one with 'polyglance library create {folder} FOLDER'"
        )
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise PolyglanceError(f"{path}: not a library of format {FORMAT}; create it again")
    try:
        found = Settings(**value)
    except TypeError as error:
        raise PolyglanceError(f"{path}: damaged ({error}); create the library again") from None
    _check(path, found)
    return found


def _check(path: Path, found: Settings) -> None:
    own = (found.model, found.model_folder, found.store, found.shards, found.address)
    texts = (*own, *found.folders, *found.excluded)
    inside = found.store not in ("", ".", "..") and Path(found.store).name == found.store
    if not (all(isinstance(text, str) for text in texts) and isinstance(found.dim, int) and inside):
        raise PolyglanceError(f"{path}: damaged; create the library again")


def write_settings(folder: Path, settings: Settings) -> None:
    """Write the settings atomically; file names that are not UTF-8 stay exact."""
    with atomic(folder / FILE, "w") as handle:
        json.dump(asdict(settings), handle, ensure_ascii=True, indent=2)
        handle.write("\n")


def changed(folder: Path, **changes: Any) -> Settings:
    """Update fields of the settings on disk; the new settings."""
    settings = replace(read_settings(folder), **changes)
    write_settings(folder, settings)
    return settings
