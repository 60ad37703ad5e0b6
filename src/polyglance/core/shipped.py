"""Where the model that the package carries lies."""

import os
from pathlib import Path

BASE = "base"
"""What it is called."""
VARIABLE = "POLYGLANCE_MODEL"
"""Environment variable with the place of the model that is used where none is named."""
PLACE = Path(__file__).parents[1] / "base"
"""Where the package has its model: what `polyglance export` wrote."""


def shipped_folder() -> Path:
    """The folder of the model that is used where none is named; it may not be there."""
    return Path(os.environ.get(VARIABLE) or PLACE)
