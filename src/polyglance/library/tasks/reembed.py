"""Embeds a library again with another model; the old embeddings are used until it is done."""

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
"""Files embedded and written together; a killed process loses at most this many."""


def reembed(library: Library, model: Any = None, show_progress: bool | None = None) -> SyncReport:
    """Embed every image with another model; called again after a kill, it resumes.

    The library uses the old model until all is done. Files that are gone or have changed by then
    are left to the next `sync`.

    Args:
        library: to embed again.
        model: an exported model, or its folder; by default the included one.
        show_progress: None shows a bar in a terminal, lines elsewhere.
    """
    check_changeable(library)
    loaded, home = load_encoder(model)
    with writing(library.folder, wait=False, name="sync.lock"):
        library.change()
        if library.settings.model in loaded.ids:
            raise PolyglanceError("the library already uses this model; there is nothing to do")
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
    """Embed the images of a library that another store does not have yet."""
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
    """Embed files, once per content, and write them together."""
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
        place = {image.second: row for row, image in enumerate(embedded.images)}
        kept = [row for row in rows if row.second in place]
        records += kept
        vectors.append(embedded.vectors[[place[row.second] for row in kept]])
        report.embedded += 1
        report.changed += 1
    if records:
        store.upsert(records, np.concatenate(vectors), model.id)
