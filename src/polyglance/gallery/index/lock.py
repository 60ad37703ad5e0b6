"""Locks, so that one process at a time indexes a folder; others wait and use its results."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def exclusive_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[bool]:
    """Hold a lock, which the system releases if the process dies; yields whether it had to wait.

    Where the system or file system has no such locks, processes do not wait: work is done twice,
    but nothing is lost.

    Args:
        path: of the lock; the file stays.
        on_wait: called before waiting for another process.
    """
    try:
        handle = path.open("a")
    except OSError:
        yield False
        return
    with handle:
        yield _lock(handle, on_wait)


def _lock(handle: IO[str], on_wait: Callable[[], None]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait()
        fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    except OSError:  # a file system without locks
        return False
    return False
