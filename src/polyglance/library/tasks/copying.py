"""Copies a library, into the same kind of store or another, and verifies the copy."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.library.library import THUMBNAILS, Library
from polyglance.library.locks import writing
from polyglance.library.media.thumbnails import Thumbnails
from polyglance.library.record import Record
from polyglance.library.settings import Settings, is_library, write_settings
from polyglance.library.stores.named import (
    create_store,
    full_address,
    has_store,
    open_store,
    store_name,
)
from polyglance.library.stores.protocol import Store
from polyglance.library.syncing.unreadable import FILE as UNREADABLE
from polyglance.storage.files import has_file, read_json, write_json

CHUNK = 500
"""Images written and verified together."""
MARK = "copying.json"
"""File that marks an unfinished copy."""
NEAR = 1e-6
"""Largest difference of embedding components: a store normalises them again."""


@dataclass
class CopyReport:
    """The outcome of copying."""

    copied: int = 0
    there: int = 0
    """Rows that an earlier attempt had copied."""
    compared: int = 0
    """Rows that were read back and equal the original."""


def copy_library(
    source: Library, folder: str | Path, address: str | None = None, show: bool | None = None
) -> CopyReport:
    """Copy a library; called again after a kill, it resumes. The original is not changed.

    Every row is read back and compared before the copy becomes a library.

    Args:
        source: to copy.
        folder: of the copy: new, empty, or that of an interrupted copy.
        address: of a store elsewhere, as for `Library.create`; None is LanceDB in the folder.
        show: None shows a progress bar in a terminal, lines elsewhere.
    """
    place = Path(os.path.abspath(folder))
    own = source.settings
    outside = "" if address is None else full_address(address)
    _begin(place, {"from": str(source.folder), "model": own.model, "address": outside})
    name = store_name(own.model)
    where = place, name, outside
    with writing(source.folder, wait=False, name="sync.lock"), writing(place, wait=False):
        there = has_store(*where)
        store = open_store(*where) if there else create_store(*where, own.model, own.dim)
        thumbnails = Thumbnails(place / THUMBNAILS)
        try:
            report = _fill(source, store, thumbnails, show)
            store.optimise()
        finally:
            thumbnails.close()
            store.close()
        if has_file(source.folder / UNREADABLE):
            shutil.copyfile(source.folder / UNREADABLE, place / UNREADABLE)
        made = Settings(
            own.model, own.model_folder, own.dim, name, own.folders, own.excluded, address=outside
        )
        write_settings(place, made)
        (place / MARK).unlink()
    return report


def _begin(place: Path, mark: dict[str, str]) -> None:
    """Create the folder, or check that it belongs to the same copy."""
    if is_library(place):
        raise PolyglanceError(f"{place}: a library already exists; choose another folder")
    if has_file(place / MARK):
        if read_json(place / MARK) != mark:
            raise PolyglanceError(
                f"{place}: is the unfinished copy of another library, or into another store; "
                "choose another folder, or delete this one"
            )
        return
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise PolyglanceError(f"{place}: must be a new or an empty folder")
    if mark["address"] and has_store(place, "", mark["address"]):
        raise PolyglanceError(f"{mark['address']}: a store already exists; choose another")
    place.mkdir(parents=True, exist_ok=True)
    write_json(place / MARK, mark)


def _fill(source: Library, store: Store, thumbnails: Thumbnails, show: bool | None) -> CopyReport:
    report = CopyReport()
    records = source.store.records()
    store.delete({row.id for row in store.known()} - {record.id for record in records})
    with Bar("copy", len(records), "img", show if records else False) as bar:
        for start in range(0, len(records), CHUNK):
            part = records[start : start + CHUNK]
            _copy(source, store, thumbnails, part, report)
            bar.advance(len(part))
    if store.count() != len(records):
        raise PolyglanceError(
            f"the copy has {store.count():,} images, the library {len(records):,}; copy it again"
        )
    return report


def _copy(
    source: Library,
    store: Store,
    thumbnails: Thumbnails,
    records: Sequence[Record],
    report: CopyReport,
) -> None:
    """Write rows that are missing or different, then read all of them back."""
    vectors = source.store.vectors([record.id for record in records])
    wrong = _different(store, records, vectors)
    if wrong:
        small = {records[row].thumbnail for row in wrong}
        found = {key: data for key in small if (data := source.thumbnails.get(key)) is not None}
        thumbnails.put(found)
        store.upsert([records[row] for row in wrong], vectors[wrong], source.settings.model)
        left = _different(store, [records[row] for row in wrong], vectors[wrong])
        if left:
            raise PolyglanceError(
                f"{records[wrong[left[0]]].path}: differs between the copy and the library; the "
                "target store cannot represent it"
            )
    report.copied += len(wrong)
    report.there += len(records) - len(wrong)
    report.compared += len(records)


def _different(store: Store, records: Sequence[Record], vectors: np.ndarray) -> list[int]:
    """Rows that are missing from a store or differ.

    Args:
        store: to check.
        records: n images as they should be.
        vectors: [n, D], their embeddings.
    """
    found = {record.id: record for record in store.records([record.id for record in records])}
    equal = [row for row, record in enumerate(records) if found.get(record.id) == record]
    near = np.zeros(len(records), bool)
    if equal:
        own = store.vectors([records[row].id for row in equal])
        near[equal] = (np.abs(own - vectors[equal]) <= NEAR).all(1)
    return [int(row) for row in np.flatnonzero(~near)]
