"""Captions of a library's images, from datasets among its folders."""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.library.library import Library
from polyglance.library.record import Caption, Record, Stamp
from polyglance.library.syncing.scan import is_below, stamp_of
from polyglance.storage.files import atomic, has_file, read_json

FILE = "captions.json"
TOGETHER = 1000
"""Rows updated at a time."""


def captions_of(folders: Iterable[str]) -> dict[str, tuple[Caption, ...]]:
    """Absolute path of an image → its captions, for folders with a `captions.jsonl`."""
    found: dict[str, tuple[Caption, ...]] = {}
    for folder in folders:
        if _file(folder) is None:
            continue
        dataset = load_dataset(folder)
        for path, entry in zip(dataset.paths(), dataset.images, strict=True):
            texts = [
                Caption(language, text)
                for language, kinds in entry.captions.items()
                for captions in kinds.values()
                for text in captions
            ]
            found[os.path.abspath(path)] = tuple(dict.fromkeys(texts))
    return found


def _file(folder: str) -> Path | None:
    """The captions of a folder, if it is a dataset."""
    files = (Path(folder) / f"captions.jsonl{end}" for end in ("", ".gz"))
    return next((file for file in files if os.path.isfile(file)), None)


class CaptionFiles:
    """The caption files of a library's folders, and their stamps when they were last read.

    The captions of a file that is gone stay: its drive may just not be mounted.
    """

    def __init__(self, library: Library) -> None:
        self.library, self.path = library, library.folder / FILE
        self._known: dict[str, Stamp] = {}
        if has_file(self.path):
            with suppress(PolyglanceError, AttributeError, TypeError):  # they are just read again
                self._known = {path: Stamp(*stamp) for path, stamp in read_json(self.path).items()}
        self._now: dict[str, Stamp] = {}
        for folder in library.settings.folders:
            file = _file(folder)
            if file is not None:
                with suppress(OSError):  # it has just been deleted
                    self._now[folder] = stamp_of(file.stat())

    def refresh(self) -> int:
        """Give images the captions of files that have changed; the number of images concerned."""
        changed = [place for place, stamp in self._now.items() if self._known.get(place) != stamp]
        if not changed:
            return 0
        captions = captions_of(changed)
        store = self.library.store
        rows = [row.id for row in store.known() if is_below(row.path, changed)]
        count = 0
        for start in range(0, len(rows), TOGETHER):
            records = store.records(rows[start : start + TOGETHER])
            new = [_captioned(record, captions.get(record.path, ())) for record in records]
            altered = [one for one, before in zip(new, records, strict=True) if one != before]
            self._write(altered)
            count += len({record.path for record in altered})
        with atomic(self.path, "w") as handle:
            json.dump(self._known | self._now, handle, ensure_ascii=True)
        return count

    def _write(self, records: Sequence[Record]) -> None:
        if records:
            vectors = self.library.store.vectors([record.id for record in records])
            self.library.store.upsert(records, vectors, self.library.settings.model)


def _captioned(record: Record, captions: tuple[Caption, ...]) -> Record:
    """A record with other captions from a dataset; those of its file have no language."""
    own = (caption for caption in record.captions if not caption.language)
    return replace(record, captions=tuple(dict.fromkeys((*captions, *own))))
