"""Locks, so that one process at a time indexes a folder; others wait and find the work done."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def exclusive_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[bool]:
    """Hold a lock that the system frees when the process dies; whether others held it before.

    On systems without such locks nobody waits: work is then done twice, but nothing is lost.

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
