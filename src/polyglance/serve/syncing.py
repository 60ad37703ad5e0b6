"""Keeps a library up to date while it is served."""

import json
import logging
import os
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from polyglance.core.child_process import ChildProcess
from polyglance.errors import PolyglanceError, needed_by
from polyglance.library import Library
from polyglance.library.library import check_changeable
from polyglance.library.settings import is_library
from polyglance.library.stores.milvus_address import Address
from polyglance.library.syncing.watch import watch
from polyglance.serve.access.logs import log_event

AGAIN = 30.0
"""Seconds before the process is started again after it has ended."""
_NICE = 10
_COUNTS = ("added", "changed", "moved", "copied", "removed")


def check_watchable(place: Path) -> None:
    """Raise for what cannot be watched: anything but a library of folders."""
    with needed_by("'polyglance serve --watch'", "library"):
        import watchfiles  # noqa: F401
    if not is_library(place):
        raise PolyglanceError(
            f"{place}: not a library; leave out --watch, as a served folder is read again anyway "
            "when it changes"
        )
    library = Library.open(place)
    try:
        check_changeable(library)
        address = library.settings.address
        if address and Address.of(address).file is not None:
            raise PolyglanceError(
                f"{place}: its embeddings are in a file of milvus-lite, which only one process can "
                "open at a time; leave out --watch"
            )
    finally:
        library.close()


class LibraryWatch:
    """Watches a library's folders in a separate process, and syncs the library.

    Searches take precedence over it, and an image that crashes it does not stop the service.
    """

    def __init__(self, library: Path, model: Path | None = None, again: float = AGAIN) -> None:
        """
        Args:
            library: its folder.
            model: new location of its model, if it was moved.
            again: seconds before the process is started again after it has ended.
        """
        self.again = again
        self.process = ChildProcess(_work, library, model)
        self._ended, self._starting = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._follow, name="library watch", daemon=True)

    def start(self) -> None:
        """Start the process, and log its syncs."""
        self._thread.start()

    def close(self) -> None:
        """End the process; what it was doing is done by the next sync."""
        self._ended.set()
        with self._starting:
            self.process.close()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                with self._starting:
                    if self._ended.is_set():
                        return
                    pipe, _ = self.process.pipe()
                while True:
                    log_event(**json.loads(pipe.recv_bytes()))
            except (EOFError, OSError):
                if not self._ended.is_set():
                    log_event("watch ended", logging.WARNING, again=self.again)
            self._ended.wait(self.again)


def _work(pipe: Connection, library: Path, model: Path | None) -> None:
    """Sync until the parent is gone, and send what to log."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_NICE)
    threading.Thread(target=_end_with, args=[pipe], daemon=True).start()
    try:
        for report in watch(Library.open(library, model), show_progress=False):
            counts = {name: getattr(report, name) for name in _COUNTS}
            if any(counts.values()):
                _send(pipe, event="synced", **counts, unreadable=len(report.unreadable))
    except PolyglanceError as error:
        _send(pipe, event="sync failed", level=logging.ERROR, reason=str(error))


def _send(pipe: Connection, **facts: object) -> None:
    pipe.send_bytes(json.dumps(facts).encode())


def _end_with(pipe: Connection) -> None:
    """End this process when the other end of its pipe is closed."""
    try:
        pipe.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)
