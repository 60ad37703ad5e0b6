"""The lock of a folder's index: one process at a time indexes it, others use its results."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from polyglance.storage.locks import locked


@contextmanager
def exclusive_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[bool]:
    """Hold a lock; yields whether it had to wait.

    Where it cannot be locked, processes do not wait: work is done twice, but nothing is lost.

    Args:
        path: of the lock; the file stays.
        on_wait: called before waiting for another process.
    """
    with ExitStack() as stack:
        try:
            waited = stack.enter_context(locked(path, on_wait))
        except OSError:  # a file system that is read-only, or without locks
            waited = False
        yield waited
