"""Bottom-up attention regions: the TSV of generate_tsv.py, or a folder with one file per image."""

import base64
import binascii
import csv
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from polyglance.data.convert.common import CONVERTERS, Conversion, ImportedFeatures
from polyglance.errors import PolyglanceError
from polyglance.storage.files import bounded, open_text, refuse_pipe

FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
KEYS = ("features", "feat", "x", "feats", "arr_0")
MAX_FIELD = 1 << 30


@CONVERTERS.register("butd")
def convert_butd(source: Path, images: Path | None = None, *, name: str = "butd") -> Conversion:
    """Region features (BUTD TSV, or a folder of .npz/.npy) into an existing dataset.

    Any number of boxes. Ids are matched to images by file name, with or without extension, COCO
    number or Flickr id.

    Args:
        source: the TSV, or the folder.
        images: ignored.
        name: of the imported features.
    """
    read = _tsv_items if source.is_file() else _folder_items
    total = _count(source)
    first = next(read(source), None)
    if first is None:
        raise PolyglanceError(f"{source}: contains no features (.tsv, .npz or .npy)")
    form: Literal["global", "set"] = "global" if _flat(source) else "set"
    return Conversion(
        features=[ImportedFeatures(name, first[1].shape[1], form, total, lambda: read(source))]
    )


def _flat(source: Path) -> bool:
    """Whether a folder has one vector per image, like `cocobu_fc`."""
    path = None if source.is_file() else _files(source)[0]
    return path is not None and path.suffix == ".npy" and np.load(path, mmap_mode="r").ndim == 1


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such file or folder")
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".npz", ".npy", ".tsv"))
    for path in found:
        refuse_pipe(path)
    return found


def _count(source: Path) -> int:
    return 0 if source.is_file() else sum(path.suffix != ".tsv" for path in _files(source))


def _folder_items(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    for path in _files(folder):
        if path.suffix == ".tsv":
            yield from _tsv_items(path)
        else:
            yield path.stem, _array(path)


def _array(path: Path) -> np.ndarray:
    """[n, dim] of an .npy or .npz; extract_feature_to_npz.py saves `x` transposed."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _shaped(loaded, path)
        with loaded:
            key = next((key for key in KEYS if key in loaded), None)
            if key is None:
                raise PolyglanceError(f"{path}: contains none of {', '.join(KEYS)}")
            value = _shaped(loaded[key], path)
            boxes = next((loaded[name] for name in ("bbox", "boxes") if name in loaded), None)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise PolyglanceError(f"{path}: not a readable array ({error})") from None
    if boxes is not None and boxes.ndim == 2 and len(boxes) in value.shape:
        return value if len(value) == len(boxes) else value.T
    return value.T if key == "x" and boxes is None else value


def _shaped(value: np.ndarray, path: Path) -> np.ndarray:
    if value.dtype.kind != "f" or value.ndim not in (1, 2) or not value.size:
        raise PolyglanceError(f"{path}: expected floats of [n, dim], found {value.shape}")
    return np.atleast_2d(value)


def _tsv_items(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    limit = csv.field_size_limit(MAX_FIELD)
    seen: set[str] = set()
    try:
        with open_text(path) as handle:
            rows = csv.reader(bounded(handle.readline, path), delimiter="\t")
            for number, cells in enumerate(rows, 1):
                if cells and cells[0] not in seen and cells != list(FIELDS):
                    seen.add(cells[0])
                    yield cells[0], _regions(cells, f"{path}, line {number}")
    except (csv.Error, UnicodeDecodeError) as error:
        raise PolyglanceError(f"{path}: not a table of features ({error})") from None
    finally:
        csv.field_size_limit(limit)


def _regions(cells: list[str], where: str) -> np.ndarray:
    if len(cells) != len(FIELDS):
        raise PolyglanceError(f"{where}: expected the fields {', '.join(FIELDS)}")
    text = re.sub(r"^b'(.*)'$", r"\1", cells[5])  # written with Python 3's str(bytes)
    try:
        count = int(cells[3])
        values = np.frombuffer(base64.b64decode(text, validate=True), "<f4")
        return values.reshape(count, len(values) // count)
    except (ValueError, binascii.Error, ZeroDivisionError) as error:
        raise PolyglanceError(
            f"{where}: features are not base64 of {cells[3]} × float32 vectors ({error})"
        ) from None
