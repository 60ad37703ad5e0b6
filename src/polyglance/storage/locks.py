"""Locks between processes and threads, as files.

The operating system releases a lock when the process that holds it dies, however it dies, so no
lock is ever left behind; the file itself stays.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock


def take_lock(path: Path) -> "BaseFileLock | None":
    """Take a lock, to be released by its `release`; None if it is held elsewhere.

    Not reentrant: a thread that holds the lock cannot take it again. Where the file cannot be
    written, or the file system has no locks, this is an OSError.

    Args:
        path: of the lock file; its folder is created.
    """
    from filelock import Timeout

    lock = _lock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    return lock


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold a lock within the block if nobody else does; yields whether it is held.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, locked_if_free(Path(folder, "lock")) as first:
    ...     with locked_if_free(Path(folder, "lock")) as second:
    ...         first, second
    (True, False)
    """
    lock = take_lock(path)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


@contextmanager
def locked(path: Path, on_wait: Callable[[], object] | None = None) -> Iterator[bool]:
    """Hold a lock within the block, after waiting until it is free; yields whether it was not.

    Args:
        path: of the lock file, as for `take_lock`.
        on_wait: called before waiting for the current holder.
    """
    lock = take_lock(path)
    waited = lock is None
    if lock is None:
        if on_wait is not None:
            on_wait()
        lock = _lock(path)
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()


def _lock(path: Path) -> "BaseFileLock":
    from filelock import FileLock

    # Without fallback: a "soft" lock is only a file, which a killed process leaves behind.
    return FileLock(path, thread_local=False, fallback_to_soft=False)
