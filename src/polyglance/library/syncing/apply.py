"""Applies the results of a sync: moved, copied and new images."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyglance.library.library import Library
from polyglance.library.media.embedding import Embedded, embed_files
from polyglance.library.media.reading import DecodedImage
from polyglance.library.record import Caption, Record, Stamp, make_id
from polyglance.library.stores.protocol import Known
from polyglance.library.syncing.changes import Copies, Rows
from polyglance.library.syncing.scan import stamp_of

TOGETHER = 1000
"""Rows updated at a time."""
COMMIT_ROWS, COMMIT_SECONDS = 512, 5.0
"""Seconds between writes of new images; a killed process loses at most this much work."""


class File(NamedTuple):
    """A file whose content is known."""

    path: str
    stamp: Stamp
    content: str


def relocate(library: Library, moves: Mapping[str, tuple[Rows, Stamp]]) -> None:
    """Give rows a new path and stamp; embeddings and everything else stay.

    Args:
        library: that has the rows.
        moves: new path → the rows of a file, and its current stamp.
    """
    targets = {row.id: (path, stamp) for path, (rows, stamp) in moves.items() for row in rows}
    ids = list(targets)
    for start in range(0, len(ids), TOGETHER):
        records = library.store.records(ids[start : start + TOGETHER])
        vectors = library.store.vectors([record.id for record in records])
        moved = [
            replace(record, path=targets[record.id][0], stamp=targets[record.id][1])
            for record in records
        ]
        library.store.upsert(moved, vectors, library.settings.model)


def copy(library: Library, copies: Sequence[tuple[Rows, File]], numbers: Copies) -> None:
    """Insert files whose content the library already has, with the existing embeddings.

    Args:
        library: that has the rows.
        copies: the rows of a file, and another file with the same content.
        numbers: assigns unique ids.
    """
    for start in range(0, len(copies), TOGETHER):
        part = copies[start : start + TOGETHER]
        ids = list(dict.fromkeys(row.id for rows, _ in part for row in rows))
        records = {record.id: record for record in library.store.records(ids)}
        place = {name: row for row, name in enumerate(records)}
        vectors = library.store.vectors(list(records))
        made, sources = [], []
        for rows, file in part:
            number = numbers.take(file.content)
            for row in rows:
                made.append(_copied(records[row.id], file, number))
                sources.append(place[row.id])
        library.store.upsert(made, vectors[sources], library.settings.model)


def _copied(record: Record, file: File, number: int) -> Record:
    name = make_id(file.content, number, record.second)
    return replace(record, id=name, path=file.path, stamp=file.stamp)


class Embedding:
    """Embeds files and writes them in groups.

    Args:
        library: to write to.
        numbers: number files of equal content.
        captions: returns the captions of each path.
        failed: called with a file, the reason, and whether the file is unreadable rather than
            changing.
    """

    def __init__(
        self,
        library: Library,
        numbers: Copies,
        captions: Callable[[], Mapping[str, tuple[Caption, ...]]],
        failed: Callable[[File, str, bool], None],
    ) -> None:
        self.library, self.numbers, self.captions, self.failed = library, numbers, captions, failed
        self.made: dict[str, Rows] = {}
        """Content → rows of a file that was inserted."""
        self._records: list[Record] = []
        self._vectors: list[np.ndarray] = []
        self._thumbnails: dict[str, bytes] = {}
        self._last = time.monotonic()

    def run(self, groups: Iterable[list[File]], advance: Callable[[int], None]) -> int:
        """Embed files, once per group of equal content; the number of files inserted.

        Args:
            groups: files of equal content.
            advance: called with the number of files done.
        """
        waiting = list(groups)
        count = 0
        try:
            found = embed_files(self.library.model, (Path(group[0].path) for group in waiting))
            for group, embedded in zip(waiting, found, strict=True):
                count += self._take(group, embedded)
                advance(len(group))
                if len(self._records) >= COMMIT_ROWS or self._is_late():
                    self.commit()
        finally:
            self.commit()  # also when interrupted, to keep finished work
        return count

    def _take(self, group: list[File], embedded: Embedded) -> int:
        if embedded.problem is not None:
            for file in group:
                self.failed(file, embedded.problem.reason, True)
            return 0
        if not is_as_stamped(group[0]):
            self.failed(group[0], "changed while being read; sync again", False)
            return 0
        for file in group:
            number, captions = self.numbers.take(file.content), self.captions().get(file.path, ())
            for image in embedded.images:
                record = _record(file, make_id(file.content, number, image.second), image)
                record = replace(record, captions=(*captions, *record.captions))
                self._records.append(record)
                self._thumbnails[record.thumbnail] = image.thumbnail
            self._vectors.append(embedded.vectors)
        own = self._records[-len(embedded.images) :]
        self.made[file.content] = [Known(r.id, r.path, r.content, r.stamp) for r in own]
        return len(group)

    def _is_late(self) -> bool:
        return time.monotonic() - self._last > COMMIT_SECONDS

    def commit(self) -> None:
        """Write pending images; thumbnails first, so that every stored image has one."""
        if self._records:
            self.library.thumbnails.put(self._thumbnails)
            vectors = np.concatenate(self._vectors)
            self.library.store.upsert(self._records, vectors, self.library.settings.model)
        self._records, self._vectors, self._thumbnails = [], [], {}
        self._last = time.monotonic()


def _record(file: File, name: str, image: DecodedImage) -> Record:
    metadata = image.metadata
    return Record(
        name,
        file.content,
        file.path,
        file.stamp,
        metadata.width,
        metadata.height,
        metadata.taken,
        metadata.latitude,
        metadata.longitude,
        metadata.captions,
        metadata.tags,
        image.perceptual_hash,
        image.second,
    )


def is_as_stamped(file: File | Record) -> bool:
    """Whether a file exists and is unchanged."""
    try:
        return stamp_of(os.stat(file.path)) == file.stamp
    except OSError:
        return False
