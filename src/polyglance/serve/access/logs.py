"""The log: one line of JSON per request and event."""

import json
import logging
import sys
import time
from typing import Any

log = logging.getLogger("polyglance.serve")


def stamp() -> str:
    """The time, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def log_event(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Log an event.

    Args:
        event: its name.
        level: of `logging`.
        facts: further fields, as JSON values.
    """
    log.log(level, json.dumps({"time": stamp(), "event": event, **facts}))


def log_to_stderr() -> None:
    """Log to stderr, one bare line per record."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
