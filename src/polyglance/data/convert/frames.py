"""Finds, checks and reads arrays of frame vectors, one per clip."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from polyglance.core.progress import track
from polyglance.data.convert.common import ImportedFeatures
from polyglance.errors import PolyglanceError
from polyglance.storage.files import refuse_pipe

SUFFIXES = (".npy", ".npz")
LARGEST = float(np.finfo(np.float16).max)
MOST_NAMED = 20
"""Most unusable arrays that are listed individually."""


def import_frames(
    clips: Iterable[str], folder: Path, name: str, most: int
) -> tuple[ImportedFeatures, set[str], list[str]]:
    """Features of clips, the clips that have them, and notes on the others.

    Every array is read once before anything is written, to find damaged ones in time.

    Args:
        clips: names of the clips.
        folder: with the arrays, at any depth.
        name: of the features.
        most: most frames per clip, evenly spaced; 0 for all.
    """
    if most < 0:
        raise PolyglanceError(f"option max_frames must be 0 (all) or more, not {most}")
    wanted = list(dict.fromkeys(clips))
    arrays = find_arrays(wanted, folder)
    dims, reasons = _check(arrays, most)
    if not dims:
        path, reason = next(iter(reasons.items()))
        raise PolyglanceError(f"{folder}: no array can be used (the first, {path}: {reason})")
    dim = Counter(dims.values()).most_common(1)[0][0]
    for clip, found in dims.items():
        if found != dim:
            reasons[arrays[clip]] = f"vectors of dimension {found}, but the others have {dim}"
    usable = {clip: arrays[clip] for clip, found in dims.items() if found == dim}

    def items() -> Iterator[tuple[str, np.ndarray]]:
        for clip, path in usable.items():
            try:
                yield clip, read_frames(path, most)
            except (ValueError, OSError, EOFError) as error:
                raise PolyglanceError(f"{path}: changed during the conversion ({error})") from None

    missing = [clip for clip in wanted if clip not in arrays]
    notes = _notes(missing, reasons, folder)
    return ImportedFeatures(name, dim, "set", len(usable), items), set(usable), notes


def find_arrays(clips: Iterable[str], folder: Path) -> dict[str, Path]:
    """Clip → CLIP.npy or CLIP.npz at any depth below a folder, in the order of the clips."""
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder of arrays; set it with -o frames=DIR")
    wanted = dict.fromkeys(clips)
    found: dict[str, Path] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES):
        if path.stem in wanted and (other := found.setdefault(path.stem, path)) is not path:
            raise PolyglanceError(
                f"{other} and {path}: two arrays of one clip; set the folder of one feature "
                "with -o frames=DIR"
            )
    if not found:
        raise PolyglanceError(
            f"{folder}: contains no array of the {len(wanted)} clips (the first is "
            f"'{next(iter(wanted))}.npy'); set their folder with -o frames=DIR"
        )
    return {clip: found[clip] for clip in wanted if clip in found}


def read_frames(path: Path, most: int = 0) -> np.ndarray:
    """[frames, dim] of an array [frames, dim] or [1, frames, dim]; a ValueError says what is wrong.

    If `most` > 0, at most that many frames, evenly spaced. An .npy is memory-mapped, so only these
    are read.
    """
    values = _open(path)
    shape = values.shape
    if values.dtype.kind != "f":
        raise ValueError(f"contains {values.dtype}, not floats")
    values = values[0] if values.ndim == 3 and len(values) == 1 else values
    if values.ndim != 2 or not values.size:
        raise ValueError(f"has the shape {list(shape)}, not [frames, dim] or [1, frames, dim]")
    values = np.array(values[even_frames(len(values), most)])
    if not np.isfinite(values).all():
        raise ValueError("contains NaN or infinity")
    if (largest := float(np.abs(values).max())) > LARGEST:
        raise ValueError(f"contains {largest:g}, too large for float16; scale the vectors down")
    return values


def even_frames(count: int, most: int) -> np.ndarray:
    """Indices of the frames to use: all, or `most` from the first to the last, as in HGR.

    >>> even_frames(10, 4).tolist()
    [0, 3, 6, 9]
    """
    if not most or count <= most:
        return np.arange(count)
    return np.round(np.linspace(0, count - 1, most)).astype(np.int64)


def _open(path: Path) -> np.ndarray:
    refuse_pipe(path)
    loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        if len(loaded.files) != 1:
            raise ValueError(f"contains {len(loaded.files)} arrays, not one")
        return loaded[loaded.files[0]]


def _check(arrays: dict[str, Path], most: int) -> tuple[dict[str, int], dict[Path, str]]:
    """Clip → dimension of its vectors, and file → reason for unusable ones."""
    dims: dict[str, int] = {}
    reasons: dict[Path, str] = {}
    for clip, path in track(arrays.items(), "checking", len(arrays), "clips"):
        try:
            dims[clip] = read_frames(path, most).shape[1]
        except Exception as error:  # numpy raises anything on damaged files
            reasons[path] = str(error).replace(str(path), path.name) or type(error).__name__
    return dims, reasons


def _notes(missing: list[str], reasons: dict[Path, str], folder: Path) -> list[str]:
    notes = [
        f"{path}: {reason}; the clip was left out"
        for path, reason in list(reasons.items())[:MOST_NAMED]
    ]
    if len(reasons) > MOST_NAMED:
        notes.append(f"left out, the array cannot be used: {len(reasons) - MOST_NAMED} more")
    if missing:
        notes.append(
            f"left out, no array in {folder}: {len(missing)} (the first is '{missing[0]}')"
        )
    return notes
