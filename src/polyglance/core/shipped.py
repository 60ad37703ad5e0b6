"""Location of the included model."""

import os
from pathlib import Path

BASE = "base"
"""Its name."""
VARIABLE = "POLYGLANCE_MODEL"
"""Environment variable with the folder of the default model."""
PLACE = Path(__file__).parents[1] / "base"
"""Folder of the included model, as written by `polyglance export`."""


def shipped_folder() -> Path:
    """The folder of the default model; it may not exist."""
    return Path(os.environ.get(VARIABLE) or PLACE)
