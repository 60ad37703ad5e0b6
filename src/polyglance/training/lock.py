"""One training at a time in a run folder."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from polyglance.errors import PolyglanceError
from polyglance.files import atomic
from polyglance.models.model import CONFIG

PREFIX = ".training."
LOCK, OWNER = f"{PREFIX}lock", f"{PREFIX}pid"
# The process is not named in the lock itself, which Windows lets nobody else read.


@contextmanager
def lock_run(out: Path) -> Iterator[None]:
    """Keep other trainings out of the run folder `out`, which is made if it is not there.

    The operating system frees the lock when its process dies, however that happens. The lock
    file stays in a run: a file that is unlinked while others open it can be locked twice. From a
    folder without a model it is removed, and so are empty folders made for it.
    """
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    lock = FileLock(out / LOCK)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise PolyglanceError(
            f"{out}: another training{_owner(out)} is writing to this folder; wait for it to end, "
            "or choose another --out"
        ) from None
    except OSError as error:
        _remove(made)
        raise PolyglanceError(f"{out}: cannot be written ({error.strerror or error})") from None
    try:
        with atomic(out / OWNER, "w") as handle:
            handle.write(str(os.getpid()))
        yield
    finally:
        with suppress(OSError):
            (out / OWNER).unlink()
        if not (out / CONFIG).is_file():
            with suppress(OSError):
                (out / LOCK).unlink()
        lock.release()
        _remove(made)


def holds_nothing(out: Path) -> bool:
    """Whether a folder is missing, or empty but for what `lock_run` puts there."""
    return not out.exists() or all(path.name.startswith(PREFIX) for path in out.iterdir())


def _owner(out: Path) -> str:
    with suppress(OSError, ValueError):
        return f" (process {int((out / OWNER).read_text())})"
    return ""


def _remove(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, as far as they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
