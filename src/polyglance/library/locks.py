"""Locks for one writer at a time; the system frees a lock when its process dies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyglance.errors import PolyglanceError


class Locked(PolyglanceError):
    """Another process is writing."""


class Unwritable(PolyglanceError):
    """The folder cannot be written to, as on a read-only drive."""


@contextmanager
def writing(folder: Path, wait: bool = True, name: str = "lock") -> Iterator[None]:
    """Hold the lock of a folder.

    Args:
        folder: to be written to.
        wait: wait for the current holder; otherwise it is an error.
        name: of the lock file.
    """
    try:
        opened = (folder / name).open("a")
    except OSError as error:
        raise Unwritable(
            f"{folder}: cannot be written to ({error.strerror}), so it cannot be changed"
        ) from None
    with opened as handle:
        try:
            import fcntl
        except ImportError:  # Windows: LanceDB's own checks of concurrent writes remain
            yield
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise Locked(
                f"{folder}: another process is changing this library; wait until it has finished"
            ) from None
        yield
