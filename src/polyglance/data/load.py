"""One way to name data: a folder, a table of captions, or `generated`."""

from pathlib import Path

from polyglance.data.dataset import Dataset, load_folder
from polyglance.errors import PolyglanceError

TABLES = {".csv", ".tsv", ".parquet"}


def load_dataset(source: str | Path) -> Dataset:
    """Load a native folder, a CSV/TSV/Parquet of path, caption, language, or `generated`.

    `generated` is the world of drawn images, rendered once into the cache folder.
    """
    if str(source) == "generated" or str(source).startswith("generated:"):
        from polyglance.data.generated import load_generated

        return load_generated(str(source))
    path = Path(source)
    if path.suffix.lower() in TABLES:
        from polyglance.data.table import load_table

        return load_table(path)
    if not path.exists():
        raise PolyglanceError(
            f"{path}: no such dataset; give a folder, a CSV or Parquet file, or 'generated'"
        )
    return load_folder(path)
