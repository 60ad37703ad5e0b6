"""Folders that are replaced atomically, and cleaning up after killed processes."""

import contextlib
import ctypes
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.storage.locks import locked_if_free, take_lock

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK, NEW, OLD = "lock", "new", "old"
PARTS = {LOCK, NEW, OLD}
FRESH_SECONDS = 60.0
"""Age from which a folder without a lock is removed; version 0.1.0 had no locks."""
_RANDOM = "[a-z0-9_]{8}"
"""Suffix of `tempfile`'s names."""


@contextlib.contextmanager
def staged(target: Path, replace: bool = True) -> Iterator[Path]:
    """An empty folder beside `target` that replaces it when the block succeeds.

    If the process is killed, `target` is either the old or the new folder. On systems that cannot
    exchange two folders atomically, the old one may be left in a hidden folder, from which `sweep`
    restores it.

    Args:
        target: the final folder.
        replace: whether to replace a non-empty `target`; otherwise it is kept.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    holder, lock = _hold(target)
    try:
        staging = holder / NEW
        staging.mkdir()
        yield staging
        _take_place(staging, target, holder, replace)
    finally:
        lock.release()
        _remove(holder)


def sweep(target: Path) -> None:
    """Remove what killed processes left of `staged(target)`, not what is still in use."""
    name = re.compile(rf"\.{re.escape(target.name)}\.{_RANDOM}")
    with contextlib.suppress(OSError):
        for holder in sorted(target.parent.iterdir()):
            if name.fullmatch(holder.name) and _is_abandoned(holder):
                if (holder / OLD).is_dir() and not target.exists():
                    (holder / OLD).rename(target)
                _remove(holder)


def sweep_files(folder: Path) -> None:
    """Remove partial files of `files.atomic` from a folder that the caller has locked."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if re.fullmatch(rf"\.[^.].*\.{_RANDOM}", path.name) and path.is_file():
                path.unlink(missing_ok=True)


def _is_abandoned(holder: Path) -> bool:
    """Whether a folder was created by `staged` in a process that is dead."""
    if holder.is_symlink() or not holder.is_dir():
        return False
    if not {path.name for path in holder.iterdir()} <= PARTS:
        return False
    if not (holder / LOCK).exists():
        empty = not any(holder.iterdir())  # its owner, if alive, creates another
        return empty or time.time() - holder.stat().st_mtime > FRESH_SECONDS
    with locked_if_free(holder / LOCK) as free:
        return free


def _hold(target: Path) -> "tuple[Path, BaseFileLock]":
    """Create a hidden folder beside `target`; return it and the lock on it."""
    while True:
        holder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        with contextlib.suppress(FileNotFoundError):  # swept in between
            lock = take_lock(holder / LOCK)
            if lock is not None:
                if (holder / LOCK).exists():
                    return holder, lock
                lock.release()


def _remove(holder: Path) -> None:
    """Remove the folder, its lock last, so that `sweep` can finish after a kill."""
    for name in (NEW, OLD):
        shutil.rmtree(holder / name, ignore_errors=True)
    shutil.rmtree(holder, ignore_errors=True)


def _take_place(new: Path, target: Path, holder: Path, replace: bool) -> None:
    with contextlib.suppress(OSError):
        target.rmdir()  # if it is empty
    try:
        new.rename(target)
        return
    except OSError:
        if not target.exists():
            raise
    if replace and not _exchange(new, target):
        target.rename(holder / OLD)
        new.rename(target)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders atomically; returns whether the system supports it."""
    if sys.platform != "linux":
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of renameat2(2)
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    return rename(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0
