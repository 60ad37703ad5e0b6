"""Keeps a library up to date while its folders change."""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from polyglance.errors import PolyglanceError, needed_by
from polyglance.library.library import Library, check_changeable
from polyglance.library.syncing.scan import is_below
from polyglance.library.syncing.sync import SyncReport, sync

SETTLE_MS = 1600
"""Longest time in which changes are collected before a sync."""
READY_MS = 200


def watch(
    library: Library,
    stop: threading.Event | None = None,
    poll: bool = False,
    show_progress: bool | None = None,
) -> Iterator[SyncReport]:
    """Sync the whole library, then changes, until `stop` is set; yields a report per sync.

    Args:
        library: to keep up to date.
        stop: ends the watch.
        poll: check periodically, for network drives that do not report changes.
        show_progress: of the syncs; None shows a bar in a terminal, lines elsewhere.
    """
    check_changeable(library)
    with needed_by("watching a library", "library"):
        import watchfiles
    places = [place for place in library.settings.folders if os.path.exists(place)]
    if not places:
        raise PolyglanceError(
            f"{library.folder}: none of its folders exists, so there is nothing to watch"
        )
    started = False
    # The first round ends once the folders are being watched, so that no change is missed.
    for changes in watchfiles.watch(
        *places,
        watch_filter=_filter(library),
        stop_event=stop,
        debounce=SETTLE_MS,
        rust_timeout=READY_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
        force_polling=poll or None,
    ):
        if not started:
            started = True
            yield sync(library, show_progress=show_progress)
        elif changes:
            yield sync(library, {path for _, path in changes}, show_progress=show_progress)


def _filter(library: Library) -> Callable[[Any, str], bool]:
    """Ignore the library's own files, which change with every sync."""
    own = [str(library.folder)]

    def wanted(change: Any, path: str) -> bool:
        return not is_below(path, own)

    return wanted
