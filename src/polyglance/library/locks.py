"""The lock of a library: one writer at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.storage.locks import locked, locked_if_free


class Locked(PolyglanceError):
    """Another process is writing."""


@contextmanager
def writing(folder: Path, wait: bool = True, name: str = "lock") -> Iterator[None]:
    """Hold the lock of a folder.

    Args:
        folder: to be written to.
        wait: wait for the current holder; otherwise it is an error.
        name: of the lock file.
    """
    lock = locked(folder / name) if wait else locked_if_free(folder / name)
    with lock as held:
        if not (wait or held):
            raise Locked(
                f"{folder}: another process is changing this library; wait until it has finished"
            )
        yield
