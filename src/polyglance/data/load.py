"""Loads data by name: a folder, a table of captions, or `generated`."""

from pathlib import Path

from polyglance.data.dataset import Dataset, load_folder
from polyglance.errors import PolyglanceError

TABLES = {".csv", ".tsv", ".parquet"}


def source_path(source: str | Path) -> Path:
    """The path of a folder or file; an empty text is an error, not the current folder."""
    if isinstance(source, str) and not source.strip():
        raise PolyglanceError("'' is not a folder; name one, or write . for the current folder")
    return Path(source)


def load_dataset(
    source: str | Path, cache: Path | None = None, language: str | None = None
) -> Dataset:
    """Load a dataset folder, a CSV/TSV/Parquet with path, caption, language, or `generated`.

    `generated` is a dataset of rendered images, created once in the folder `cache`, by default
    the XDG cache.

    Args:
        source: what to load.
        cache: folder of generated datasets.
        language: of the captions of a table that has no such column; None requires one.

    >>> from tempfile import TemporaryDirectory
    >>> rows = ["path,caption,language", "beach.jpg,a dog,en", "beach.jpg,ein Hund,de"]
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "photos.csv")
    ...     _ = table.write_text("\\n".join(rows))
    ...     dataset = load_dataset(table)
    >>> dataset.languages, dataset.images[0].captions["de"]
    (['de', 'en'], {'independent': ['ein Hund']})
    """
    if str(source) == "generated" or str(source).startswith("generated:"):
        from polyglance.data.generated import load_generated

        return load_generated(str(source), cache)
    path = source_path(source)
    if path.suffix.lower() in TABLES:
        from polyglance.data.table import load_table

        return load_table(path, language)
    if not path.exists():
        raise PolyglanceError(
            f"{path}: no such dataset; pass a folder, a CSV or Parquet file, or 'generated'"
        )
    return load_folder(path)
