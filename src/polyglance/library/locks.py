"""The lock of a library: one writer at a time."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.storage.locks import locked, locked_if_free


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
    lock = locked(folder / name) if wait else locked_if_free(folder / name)
    with ExitStack() as stack:
        try:
            held = stack.enter_context(lock)
        except OSError as error:
            raise Unwritable(
                f"{folder}: cannot be written to ({error.strerror}), so it cannot be changed"
            ) from None
        if not (wait or held):
            raise Locked(
                f"{folder}: another process is changing this library; wait until it has finished"
            )
        yield
