"""Watching what a process does: Python tells of connections, programs and opened files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONNECTIONS = {"socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"}
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.startfile"}
_watchers: list[list[tuple[str, str]]] = []
_hooked: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watchers and (event == "open" or event in CONNECTIONS or event in PROGRAMS):
        _watchers[-1].append((event, str(arguments[0]) if arguments else ""))


@contextmanager
def watched() -> Iterator[list[tuple[str, str]]]:
    """(event, its first argument) of all that happens inside; a hook cannot be taken away."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    events: list[tuple[str, str]] = []
    _watchers.append(events)
    try:
        yield events
    finally:
        _watchers.remove(events)


def outside(events: list[tuple[str, str]], folder: Path, forbidden: Path) -> list[str]:
    """Connections, programs, and opened files below `forbidden` but not below `folder`."""
    found = [f"{event} {what}" for event, what in events if event != "open"]
    for event, what in events:
        if event == "open" and what.startswith(str(forbidden)) and not what.startswith(str(folder)):
            found.append(f"open {what}")
    return found
