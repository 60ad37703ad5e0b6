"""Whether torchrun has started this process beside others; asked before torch is imported."""

import os
from collections.abc import Mapping

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells its processes."""


def launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is one of several.

    >>> launched({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "here", "MASTER_PORT": "29500"})
    False
    """
    size = environment.get("WORLD_SIZE", "1")
    return all(name in environment for name in VARIABLES) and size.isdigit() and int(size) > 1


def leads(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is the one that writes and speaks."""
    return not launched(environment) or environment["RANK"] == "0"


def local_rank(environment: Mapping[str, str] = os.environ) -> int:
    """The number of this process among those of its machine, which is that of its GPU."""
    return int(environment.get("LOCAL_RANK", "0")) if launched(environment) else 0
