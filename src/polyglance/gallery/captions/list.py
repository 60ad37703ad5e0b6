"""The captions to search for an image: from a text file, a table or a dataset."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from polyglance.data.dataset import Dataset
from polyglance.data.load import TABLES, load_dataset, source_path
from polyglance.data.table import caption_rows
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.storage.files import has_file, read_lines


@dataclass(frozen=True)
class CaptionList:
    """Distinct captions in the order of their source, with their languages if known.

    `images` are the files that a caption belongs to; empty if the source does not say.
    """

    texts: list[str]
    languages: list[str | None]
    images: list[frozenset[Path]]
    dataset: Dataset | None = field(default=None, repr=False)
    """The dataset that they come from, if any."""

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def collect(
        cls, rows: Iterable[tuple[str, str | None, Path | None]], dataset: Dataset | None = None
    ) -> "CaptionList":
        """From (text, language, image) rows; a repeated caption is merged."""
        found: dict[tuple[str, str | None], set[Path]] = {}
        for text, language, image in rows:
            owners = found.setdefault((text, language), set())
            if image is not None:
                owners.add(image.absolute())
        return cls(
            [text for text, _ in found],
            [language for _, language in found],
            [frozenset(owners) for owners in found.values()],
            dataset,
        )


def open_captions(
    source: str | Path,
    language: str | None = None,
    split: str | None = None,
    cache: Path | None = None,
) -> CaptionList:
    """The captions of a text file (one per line), a table, or a dataset.

    Args:
        source: a table is a CSV, TSV or Parquet file with a column `caption`, and optionally
            `language` and `path`; a dataset is a folder or `generated`; any other file is text.
        language: of a text file's captions; from other sources, only captions in it are used.
        split: of a dataset; by default all splits.
        cache: where `generated` is rendered; the XDG cache by default.
    """
    path = source_path(source)
    is_dataset = path.is_dir() or str(source).partition(":")[0] == "generated"
    if split is not None and not is_dataset:
        raise ArgumentError(f"`split` {split}: needs a dataset folder, and {source} is none")
    if is_dataset:
        found = _of_dataset(load_dataset(source, cache), language, split)
    elif not has_file(path):
        raise PolyglanceError(
            f"{path}: no such file; captions are in a text file, a table or a dataset folder"
        )
    elif path.suffix.lower() in TABLES:
        rows = caption_rows(path)
        found = CaptionList.collect(
            (text, code or language, image)
            for text, code, image in rows
            if language is None or code in (None, language)
        )
    else:
        lines = (line.strip() for _, line in read_lines(path))
        found = CaptionList.collect((line, language, None) for line in lines if line)
    if not len(found):
        which = f" in '{language}'" if language else ""
        raise PolyglanceError(f"{source}: has no captions{which}")
    return found


def _of_dataset(dataset: Dataset, language: str | None, split: str | None) -> CaptionList:
    part = dataset if split is None else dataset.split(split)
    table = part.captions(None if language is None else [language])
    paths = part.paths()
    rows = zip(table.texts, table.languages, table.image.tolist(), strict=True)
    return CaptionList.collect(((text, code, paths[image]) for text, code, image in rows), part)
