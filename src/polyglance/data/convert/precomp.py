"""Precomputed features and captions of vsepp, SCAN, VSRN and LIWE.

`train_ims.npy` is [n, dim] or [n, regions, dim], `train_caps.txt` has the captions in order, the
same number for every image. Some files repeat an image's row for each of its captions.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from polyglance.data.convert.common import (
    CONVERTERS,
    Builder,
    Conversion,
    ImportedFeatures,
    caption,
    image_list,
    lines,
)
from polyglance.data.table import split_name
from polyglance.errors import PolyglanceError
from polyglance.storage.files import refuse_pipe

REPEATS = 5
CHUNK_ROWS = 256
LENGTHS = ("lens", "lengths", "ims_lens", "ims_lengths")


@CONVERTERS.register("precomp")
def convert_precomp(
    source: Path,
    images: Path | None = None,
    *,
    language: str = "en",
    name: str = "precomp",
    captions_per_image: int = 0,
) -> Conversion:
    """vsepp/SCAN/VSRN folders: *_ims.npy and *_caps.txt (or *_caps.de.txt), dev as val.

    Image names are from *_ids.txt, if it exists. Padded sets of regions are cut to the lengths in
    *_lens.npy, if it exists.

    Args:
        source: the folder.
        images: folder with the image files, if available.
        language: of the captions of *_caps.txt.
        name: of the imported features.
        captions_per_image: how often rows are repeated per image; 0 to detect it.
    """
    builder, parts, shapes = Builder(), [], {}
    arrays = sorted(source.glob("*_ims.npy"), key=lambda path: (path.name[:5] != "train", path))
    if not arrays:
        raise PolyglanceError(f"{source}: there is no *_ims.npy")
    for path in arrays:
        split = path.name.removesuffix("_ims.npy")
        rows = open_array(path)
        texts = _captions(source, split, language)
        step = _rows_per_image(rows, path, texts, captions_per_image)
        names = _names(source, split, len(rows) // step)
        for code, (file, found) in texts.items():
            _add(builder, names, split_name(split), code, found, (file, path))
        parts.append((names, path, step, _lengths(source, split, rows, step)))
        shapes[path.name] = rows.shape
    kinds = {(len(shape), shape[-1]) for shape in shapes.values()}
    if len(kinds) > 1:
        described = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise PolyglanceError(f"{source}: the arrays differ in dimension: {described}")
    rank, dim = kinds.pop()

    def items() -> Iterator[tuple[str, np.ndarray]]:
        for part in parts:
            yield from vectors_of(*part)

    total = sum(len(names) for names, *_ in parts)
    form: Literal["global", "set"] = "global" if rank == 2 else "set"
    conversion = builder.finish(images, source)
    conversion.features.append(ImportedFeatures(name, dim, form, total, items))
    return conversion


def open_array(path: Path) -> np.ndarray:
    """A memory-mapped array of features, [n, dim] or [n, regions, dim]."""
    refuse_pipe(path)
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise PolyglanceError(f"{path}: not a readable .npy array ({error})") from None
    if rows.ndim not in (2, 3) or not len(rows) or rows.dtype.kind != "f":
        raise PolyglanceError(
            f"{path}: expected floats of [n, dim] or [n, regions, dim], "
            f"found {rows.dtype} of {rows.shape}"
        )
    return rows


def _captions(source: Path, split: str, language: str) -> dict[str, tuple[Path, list[str]]]:
    found = {}
    for path in sorted(source.glob(f"{split}_caps*.txt")):
        if match := re.fullmatch(rf"{re.escape(split)}_caps(?:\.([a-z]{{2,3}}))?\.txt", path.name):
            texts = [caption(text, f"{path}, line {number}") for number, text in lines(path)]
            found[match[1] or language] = (path, texts)
    if not found:
        raise PolyglanceError(f"{source}: there is no {split}_caps.txt for {split}_ims.npy")
    return found


def _rows_per_image(
    rows: np.ndarray, path: Path, texts: dict[str, tuple[Path, list[str]]], wanted: int
) -> int:
    """How often an image's row is repeated: once, or once per caption."""
    same = any(len(found) == len(rows) for _, found in texts.values())
    if not same or wanted == 1:
        return 1
    repeats = wanted or REPEATS
    if len(rows) % repeats == 0 and _repeated(rows, repeats):
        return repeats
    if wanted:
        raise PolyglanceError(f"{path}: rows are not repeated {wanted} times for each image")
    return 1


def _repeated(rows: np.ndarray, repeats: int) -> bool:
    size = max(CHUNK_ROWS // repeats, 1) * repeats
    for start in range(0, len(rows), size):
        chunk = np.asarray(rows[start : start + size])
        blocks = chunk.reshape(-1, repeats, *chunk.shape[1:])
        if not (blocks == blocks[:, :1]).all():
            return False
    return True


def _names(source: Path, split: str, count: int) -> list[str]:
    path = source / f"{split}_ids.txt"
    if path.is_file():
        listed = image_list(path)
        if len(listed) % count == 0 and len(set(listed)) == count:
            return [f"{split}-{identity}" for identity in listed[:: len(listed) // count]]
    return [f"{split}-{index:06d}" for index in range(count)]


def _add(
    builder: Builder,
    names: list[str],
    split: str,
    language: str,
    texts: list[str],
    files: tuple[Path, Path],
) -> None:
    per_image, rest = divmod(len(texts), len(names))
    if rest or not per_image:
        raise PolyglanceError(
            f"{files[0]} has {len(texts)} captions for {len(names)} images of {files[1]}; "
            "it must be the same number for every image"
        )
    for index, text in enumerate(texts):
        builder.add(names[index // per_image], split, language, "independent", text)


def _lengths(source: Path, split: str, rows: np.ndarray, step: int) -> np.ndarray | None:
    for suffix in LENGTHS:
        path = source / f"{split}_{suffix}.npy"
        if path.is_file() and rows.ndim == 3:
            counts = np.load(path, allow_pickle=False).reshape(-1)
            counts = counts[::step] if len(counts) == len(rows) else counts
            if len(counts) != len(rows) // step or counts.min() < 1 or counts.max() > rows.shape[1]:
                raise PolyglanceError(
                    f"{path}: needs a number from 1 to {rows.shape[1]} for each image"
                )
            return counts
    return None


def vectors_of(
    names: list[str], path: Path, step: int = 1, lengths: np.ndarray | None = None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield vectors, mapping the array anew every few rows, since it may exceed memory.

    Args:
        names: of the images, in the order of the rows.
        path: the array.
        step: rows per image, of which the first is used.
        lengths: valid vectors of each image's padded set; None for all.
    """
    for start in range(0, len(names), CHUNK_ROWS):
        chunk = np.array(open_array(path)[start * step : (start + CHUNK_ROWS) * step : step])
        for offset, value in enumerate(chunk):
            count = None if lengths is None else int(lengths[start + offset])
            yield names[start + offset], np.atleast_2d(value)[:count]
