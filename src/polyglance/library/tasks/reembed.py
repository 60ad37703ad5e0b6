"""Embedding a library anew, with another model; what is there stays in use until all is done."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.library.library import Library, check_changeable, load_encoder
from polyglance.library.locks import writing
from polyglance.library.media.embedding import embed_files
from polyglance.library.record import Record
from polyglance.library.stores.named import (
    address_beside,
    create_store,
    has_store,
    open_store,
    store_name,
)
from polyglance.library.stores.protocol import Store
from polyglance.library.syncing.apply import is_as_stamped
from polyglance.library.syncing.sync import SyncReport

CHUNK = 64
"""Files that are embedded and written together: what a kill costs."""


def reembed(library: Library, model: Any = None, show_progress: bool | None = None) -> SyncReport:
    """Embed every image with another model; called again after a kill, it goes on.

    The library answers with the old model until all is done. Files that are gone or have changed
    by then are left to the next `sync`.

    Args:
        library: to embed anew.
        model: an exported model, or its folder; None is the one that the package carries.
        show_progress: None shows a bar on a terminal, lines elsewhere.
    """
    check_changeable(library)
    loaded, home = load_encoder(model)
    with writing(library.folder, wait=False, name="sync.lock"):
        library.change()
        if loaded.id == library.settings.model:
            raise PolyglanceError("the library is of this model already; there is nothing to do")
        name = store_name(loaded.id)
        address = address_beside(library.settings.address, loaded.id)
        place = library.folder, name, address
        there = has_store(*place)
        store = open_store(*place) if there else create_store(*place, loaded.id, loaded.dim)
        report = SyncReport()
        _fill(library, store, loaded, report, show_progress)
        store.optimise()
        new = {"model": loaded.id, "model_folder": home, "dim": loaded.dim}
        library.change(**new, store=name, address=address)
        library.store.drop()
    library.store, library.model = store, loaded
    return report


def _fill(
    library: Library, store: Store, model: Any, report: SyncReport, show: bool | None
) -> None:
    """Put every image of a library into another store that it is not in yet."""
    there = {row.id for row in store.known()}
    wanted = library.store.records()
    store.delete(there - {record.id for record in wanted})  # gone since an earlier attempt
    groups: dict[str, list[Record]] = {}
    for record in wanted:
        groups.setdefault(record.content, []).append(record)
    waiting = [rows for rows in groups.values() if not {row.id for row in rows} <= there]
    report.unchanged = len(groups) - len(waiting)
    with Bar("reembed", len(waiting), "img", show if waiting else False) as bar:
        for start in range(0, len(waiting), CHUNK):
            part = waiting[start : start + CHUNK]
            _embed(store, model, part, report)
            bar.advance(len(part))


def _embed(store: Store, model: Any, part: Sequence[list[Record]], report: SyncReport) -> None:
    """Embed files, once for each content, and write them at once."""
    sources = [next((row for row in rows if is_as_stamped(row)), None) for rows in part]
    there = [(rows, source) for rows, source in zip(part, sources, strict=True) if source]
    records: list[Record] = []
    vectors: list[np.ndarray] = []
    found = embed_files(model, [Path(source.path) for _, source in there])
    for (rows, source), embedded in zip(there, found, strict=True):
        if embedded.problem is not None:
            report.unreadable.append((source.path, embedded.problem.reason))
            report.fresh += 1
            continue
        place = {picture.second: row for row, picture in enumerate(embedded.pictures)}
        kept = [row for row in rows if row.second in place]
        records += kept
        vectors.append(embedded.vectors[[place[row.second] for row in kept]])
        report.embedded += 1
        report.changed += 1
    if records:
        store.upsert(records, np.concatenate(vectors), model.id)
