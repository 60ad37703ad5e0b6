"""Converts a CSV, TSV or Parquet file to a dataset folder."""

import os
from pathlib import Path, PurePosixPath

from polyglance.data.convert.common import CONVERTERS, Conversion, find_images
from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.data.table import load_table
from polyglance.storage.digest import short_digest


@CONVERTERS.register("table")
def convert_table(source: Path, images: Path | None = None, *, language: str = "") -> Conversion:
    """CSV, TSV or Parquet with the columns path, caption, language (and split, kind).

    Args:
        source: the table.
        images: folder with the image files; by default the table's paths are used.
        language: of all captions, if the table has no such column.
    """
    table = load_table(source, language or None)
    names = {entry.image: _inside(entry.image) for entry in table.images}
    entries = [
        CaptionedImage(names[entry.image], entry.split, entry.captions) for entry in table.images
    ]
    if images is None:
        sources, notes = _beside(table, names)
    else:
        sources, notes = find_images(names.values(), images)
    return Conversion(entries, sources, [], notes)


def _beside(table: Dataset, names: dict[str, str]) -> tuple[dict[str, Path], list[str]]:
    """The image files at the table's paths."""
    files = {names[entry.image]: table.path(entry).absolute() for entry in table.images}
    missing = [name for name, file in files.items() if not os.path.isfile(file)]
    note = f"{len(missing)} image files of the table do not exist (the first is '{{}}')"
    found = {name: file for name, file in files.items() if name not in set(missing)}
    return found, [note.format(files[missing[0]])] if missing else []


def _inside(path: str) -> str:
    """A name below `images/`; other paths are replaced by a digest and the file name."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or ":" in path:
        return f"{short_digest([path], 4).hex()}_{pure.name}"
    return path
