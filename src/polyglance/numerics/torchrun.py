"""Whether torchrun started this process as one of several; usable before torch is imported."""

import os
from collections.abc import Mapping

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables that torchrun sets."""


def launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is one of several.

    >>> launched({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "here", "MASTER_PORT": "29500"})
    False
    """
    size = environment.get("WORLD_SIZE", "1")
    return all(name in environment for name in VARIABLES) and size.isdigit() and int(size) > 1


def leads() -> bool:
    """Whether this is the process that writes files and prints."""
    return not launched() or os.environ["RANK"] == "0"


def local_rank() -> int:
    """Index of this process on its machine, and so of its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0")) if launched() else 0
