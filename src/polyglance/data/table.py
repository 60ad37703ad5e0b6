"""Captions in a table: CSV, TSV or Parquet with the columns path, caption and language.

`split` and `kind` are optional columns. Without `split`, an image's split is determined by a hash
of its path, so that it stays the same when rows are added. Paths are absolute or relative to the
table's folder, and may lead out of it, since the table is the user's own.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from polyglance.core.languages import check_code, primary_subtag
from polyglance.data.dataset import CaptionedImage, Captions, Dataset
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import short_digest
from polyglance.storage.files import has_file

COLUMNS = {
    "path": (
        *("path", "image", "image_path", "img_path", "filepath", "file_path", "filename"),
        *("file_name", "image_file", "image_name", "file", "img", "photo", "picture"),
    ),
    "caption": ("caption", "text", "sentence", "title", "description"),
    "language": ("language", "lang", "locale", "language_code", "lang_code"),
    "split": ("split", "subset", "partition"),
    "kind": ("kind", "caption_kind"),
}
"""Column → accepted names, in order of preference."""

SPLITS = {"dev": "val", "valid": "val", "validation": "val", "training": "train", "testing": "test"}
DELIMITERS = ",\t;|"
REQUIRED = ("path", "caption")
"""Columns that a dataset needs."""

Row = tuple[int, dict[str, Any]]
"""Line (CSV) or row (Parquet) number from 1, and its cells by column."""


def load_table(path: Path, language: str | None = None) -> Dataset:
    """Read a CSV, TSV or Parquet file as a dataset; image paths are relative to its folder.

    `language` is the language of all captions if the table has no such column.
    """
    if not has_file(path):
        raise PolyglanceError(f"{path}: no such file")
    rows, noun = _rows(path)
    entries, hashed = _entries(rows, path, noun, language)
    if not entries:
        raise PolyglanceError(f"{path}: the table has a header but no rows; add some")
    locate = partial(_locate, path)
    return Dataset(entries, path.parent, path.stem, path.parent, path, locate, hashed)


def caption_rows(path: Path) -> Iterator[tuple[str, str | None, Path | None]]:
    """Yield (caption, language, image) of a table in which only `caption` is required."""
    rows, noun = _rows(path, ("caption",))
    for number, cells in rows:
        where = f"{path}, {noun} {number}"
        language = _code(cells["language"], where) if "language" in cells else None
        image = path.parent / _image(cells["path"], where) if "path" in cells else None
        for text in _texts(cells["caption"], where):
            yield text, language, image


def _rows(path: Path, required: Sequence[str] = REQUIRED) -> tuple[Iterator[Row], str]:
    """The rows, and the noun for one in errors."""
    if path.suffix.lower() == ".parquet":
        return _parquet_rows(path, required), "row"
    return _csv_rows(path, required), "line"


def _locate(path: Path, entry: CaptionedImage, text: str) -> str:
    """The location of a caption, found by reading the table again."""
    rows, noun = _rows(path)
    for number, cells in rows:
        where = f"{path}, {noun} {number}"
        if _image(cells["path"], where) == entry.image and text in _texts(cells["caption"], where):
            return where
    return str(path)


def hash_splits(names: Iterable[str]) -> dict[str, str]:
    """Image → split, about 90 % train, 5 % val, 5 % test, from a hash of the name.

    With three or more images, an empty split gets the image whose hash is nearest to it, so an
    image can change its split only in tables of a few dozen images.
    """
    position = {name: unit_hash(name) for name in names}
    splits = {name: _split_at(value) for name, value in position.items()}
    for missing in ("val", "test", "train") if len(splits) >= 3 else ():
        if missing not in splits.values():
            largest = Counter(splits.values()).most_common(1)[0][0]
            donors = sorted((position[name], name) for name in splits if splits[name] == largest)
            splits[donors[0 if missing == "train" else -1][1]] = missing
    return splits


def split_name(value: str) -> str:
    """Normalise the name of a split.

    >>> split_name("Validation")
    'val'
    """
    name = value.strip().lower()
    return SPLITS.get(name, name)


def unit_hash(name: str) -> float:
    """A number from 0 to 1 (exclusive) for a name, from which its split follows."""
    digest = short_digest([name.encode("utf-8", "surrogatepass")], 8)
    return int.from_bytes(digest, "big") / 2**64


def _split_at(value: float) -> str:
    return "train" if value < 0.9 else "val" if value < 0.95 else "test"


def find_columns(header: Sequence[str]) -> dict[str, int]:
    """Column → position in the header, by name or synonym, ignoring case."""
    names = [name.strip().lower().replace(" ", "_") for name in header]
    found = {}
    for column, synonyms in COLUMNS.items():
        places = [names.index(name) for name in synonyms if name in names]
        if places:
            found[column] = places[0]
    return found


def _check_columns(
    path: Path, columns: dict[str, int], header: Sequence[str], required: Sequence[str]
) -> None:
    for column in required:
        if column not in columns:
            others = ", ".join(COLUMNS[column][1:5])
            raise PolyglanceError(
                f"{path}: there is no column '{column}' (nor {others}); "
                f"the columns are: {', '.join(header)}"
            )


def _csv_rows(path: Path, required: Sequence[str]) -> Iterator[Row]:
    with path.open("rb") as raw:
        start = raw.read(2)
    reader: Any = None
    encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        with path.open(encoding=encoding, newline="") as handle:
            first = handle.readline()
            if not first.strip():
                raise PolyglanceError(f"{path}: the first line must name the columns")
            handle.seek(0)
            reader = csv.reader(handle, delimiter=_delimiter(first), strict=True)
            header = next(reader)
            columns = find_columns(header)
            _check_columns(path, columns, header, required)
            number = reader.line_num + 1
            for cells in reader:
                if cells:
                    yield number, _cells(cells, columns, len(header), f"{path}, line {number}")
                number = reader.line_num + 1
    except csv.Error as error:
        number = reader.line_num if reader else 1
        raise PolyglanceError(f"{path}, line {number}: {error}; check the quotes") from None
    except UnicodeError as error:
        raise PolyglanceError(f"{path}: not UTF-8 ({error}); save the table as UTF-8") from None


def _cells(cells: list[str], columns: dict[str, int], width: int, where: str) -> dict[str, Any]:
    if len(cells) > width:
        raise PolyglanceError(
            f"{where}: {len(cells)} cells in {width} columns; quote texts with separators"
        )
    return {name: cells[i] if i < len(cells) else "" for name, i in columns.items()}


def _delimiter(header: str) -> str:
    def known(delimiter: str) -> int:
        return len(find_columns(next(csv.reader([header.rstrip("\r\n")], delimiter=delimiter))))

    return max(DELIMITERS, key=known)


def _parquet_rows(path: Path, required: Sequence[str]) -> Iterator[Row]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise PolyglanceError(
            f"{path}: reading Parquet needs pyarrow; pip install 'polyglance[train]'"
        ) from None
    try:
        with pq.ParquetFile(path) as file:
            header = file.schema_arrow.names
            columns = find_columns(header)
            _check_columns(path, columns, header, required)
            names = {name: header[i] for name, i in columns.items()}
            number = 0
            for batch in file.iter_batches(columns=list(names.values())):
                for values in batch.to_pylist():
                    number += 1
                    yield number, {name: values[source] for name, source in names.items()}
    except (pa.ArrowException, OSError) as error:
        raise PolyglanceError(f"{path}: not a readable Parquet file ({error})") from None


def _entries(
    rows: Iterable[Row], path: Path, noun: str, language: str | None
) -> tuple[list[CaptionedImage], bool]:
    """The images, and whether their splits are by a hash."""
    captions: dict[str, Captions] = {}
    splits: dict[str, tuple[str, int]] = {}
    for number, cells in rows:
        where = f"{path}, {noun} {number}"
        image = _image(cells["path"], where)
        kinds = captions.setdefault(image, {}).setdefault(
            _language(cells, language, path, where), {}
        )
        texts = kinds.setdefault(_text(cells.get("kind"), "kind", where, "independent"), [])
        texts.extend(_texts(cells["caption"], where))
        if "split" in cells:
            split = split_name(_text(cells["split"], "split", where))
            first, line = splits.setdefault(image, (split, number))
            if first != split:
                raise PolyglanceError(
                    f"{where}: '{image}' is in split '{split}' here but in '{first}' in {noun} "
                    f"{line}; give each image one split"
                )
    chosen = {image: split for image, (split, _) in splits.items()} or hash_splits(captions)
    images = [CaptionedImage(image, chosen[image], found) for image, found in captions.items()]
    return images, not splits


def _image(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise PolyglanceError(f"{where}: column 'path' must have the path of an image file")
    text = _text(value, "path", where).replace("\\", "/")
    if "\0" in text:
        raise PolyglanceError(f"{where}: {text!r} is not a valid path")
    return str(PurePosixPath(text))


def _language(cells: dict[str, Any], default: str | None, path: Path, where: str) -> str:
    if "language" in cells:
        return _code(cells["language"], where)
    if default is None:
        raise PolyglanceError(
            f"{path}: there is no column 'language' (nor lang, locale); add one with codes such "
            "as en or de, or run 'polyglance data convert table TABLE OUT -o language=en'"
        )
    return primary_subtag(check_code(default, str(path)))


def _code(value: Any, where: str) -> str:
    return primary_subtag(check_code(_text(value, "language", where), where))


def _texts(value: Any, where: str) -> list[str]:
    values = value if isinstance(value, list) and value else [value]
    return [_text(text, "caption", where) for text in values]


def _text(value: Any, column: str, where: str, default: str | None = None) -> str:
    if value is not None and not isinstance(value, str):
        found = type(value).__name__
        raise PolyglanceError(f"{where}: the {column} must be text, not {value!r:.40} ({found})")
    text = (value or "").strip()
    if text or default is not None:
        return text or str(default)
    raise PolyglanceError(f"{where}: the {column} is empty; fill it in or remove the row")
