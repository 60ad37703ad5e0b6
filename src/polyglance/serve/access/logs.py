"""The log: a line of JSON for each request and event."""

import json
import logging
import sys
import time
from typing import Any

log = logging.getLogger("polyglance.serve")


def stamp() -> str:
    """The time, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def tell(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Log something that happened.

    Args:
        event: what.
        level: of `logging`.
        facts: about it, as JSON has them.
    """
    log.log(level, json.dumps({"time": stamp(), "event": event, **facts}))


def log_to_stderr() -> None:
    """Nothing but the lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
