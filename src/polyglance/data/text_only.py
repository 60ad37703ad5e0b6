"""Text-only caption tuples: `text-only.jsonl.gz` in a dataset's folder."""

from collections.abc import Collection, Iterator
from pathlib import Path

from polyglance.data.dataset import Captions, CaptionTable, Dataset, check_captions
from polyglance.errors import PolyglanceError
from polyglance.storage.files import has_file, read_jsonl

FILE = "text-only.jsonl.gz"


def text_only_file(dataset: Dataset) -> Path | None:
    """The file of a dataset's text-only captions, if it has one."""
    path = None if dataset.root is None else dataset.root / FILE
    return path if path is not None and has_file(path) else None


def needed_text_only_file(dataset: Dataset) -> Path:
    """The file of a dataset's text-only captions; an error if there is none."""
    path = text_only_file(dataset)
    if path is None:
        raise PolyglanceError(f"{dataset.name}: there is no {FILE}; set sampling.text_only=false")
    return path


def text_only_captions(dataset: Dataset, languages: Collection[str], first: int) -> CaptionTable:
    """Captions of the text-only tuples.

    Args:
        dataset: whose folder has the file.
        languages: to include.
        first: index of the first tuple in `CaptionTable.image`; the i-th has `first` + i.
    """
    return read_tuples(needed_text_only_file(dataset), languages, first)


def read_tuples(path: Path, languages: Collection[str] | None, first: int) -> CaptionTable:
    """Captions of a file of tuples.

    Args:
        path: lines of {"captions": {language: {kind: [text, …]}}}.
        languages: to include; None for all.
        first: index of the first tuple, as in `text_only_captions`.
    """
    wanted = None if languages is None else set(languages)

    def tuples() -> Iterator[tuple[int, Captions]]:
        for index, (line, value) in enumerate(read_jsonl(path), first):
            captions = value.get("captions") if isinstance(value, dict) else None
            found = check_captions(captions, f"{path}, line {line}")
            yield index, {k: own for k, own in found.items() if wanted is None or k in wanted}

    return CaptionTable.collect(tuples())
