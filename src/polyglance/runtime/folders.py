"""Folders of models: the included one, and those that users name."""

import os
from pathlib import Path

from polyglance.core.shipped import BASE, VARIABLE, shipped_folder
from polyglance.errors import PolyglanceError
from polyglance.runtime.manifest import FILE, is_exported
from polyglance.storage.files import has_file, read_json

RUN, NO_WEIGHTS = "model.json", "no-weights.txt"
"""Files in a run's folder; as in `models.folder`, which needs torch."""


def shipped() -> Path:
    """The folder of the included model, used by default."""
    folder = shipped_folder()
    if os.environ.get(VARIABLE):
        if not folder.is_dir():
            raise PolyglanceError(f"{VARIABLE}={folder}: no such folder")
        return folder
    if not is_exported(folder):
        raise PolyglanceError(
            "this copy of polyglance does not include a model; pass one with --model, or set the "
            f"environment variable {VARIABLE} to its folder"
        )
    return folder


def model_folder(place: str | Path | None) -> Path:
    """The folder of a model: the included one for None and "base", unless there is such a folder.

    Args:
        place: as users name a model.
    """
    if place is None or names_base(place):
        return shipped()
    return Path(place).expanduser()


def names_base(place: str | Path) -> bool:
    """Whether a text names the included model; a folder `base` takes precedence."""
    return str(place) == BASE and not Path(BASE).is_dir()


def check_model_folder(folder: Path) -> None:
    """Raise an error if a folder has neither a run nor an exported model."""
    if any(has_file(place / NO_WEIGHTS) for place in (folder, folder.parent)):
        return  # reading it gives the reason
    if not folder.exists():
        raise PolyglanceError(
            f"{folder}: no such folder; a model is the folder of a run ('polyglance train'), of an "
            f"export ('polyglance export'), or {BASE}, the included one"
        )
    if not has_file(folder / RUN) and not is_exported(folder):
        raise PolyglanceError(
            f"{folder}: not a model, it has neither {RUN} (a run) nor {FILE} (an export)"
        )


def is_tuned(folder: Path) -> bool:
    """Whether a run, or the run that was exported, fine-tuned another model."""
    check_model_folder(folder)
    found = read_json(folder / (FILE if is_exported(folder) else RUN))
    recipe = found.get("recipe") if isinstance(found, dict) else None
    transfer = recipe.get("transfer") if isinstance(recipe, dict) else None
    return isinstance(transfer, dict) and transfer.get("tune") is True
