"""Shared by the video layouts: captions of clips, their splits, and their frames."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.data.convert.common import Conversion, add_to_split, caption, image_list, one_of
from polyglance.data.convert.frames import import_frames
from polyglance.data.dataset import CaptionedImage
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import short_digest

VAL_SHARE = 0.05
"""Share of the training clips held out if a dataset has no validation split."""

LISTS = {
    "train": ("train.txt", "trn_names.npy"),
    "val": ("val.txt", "val_names.npy"),
    "test": ("test.txt", "tst_names.npy"),
}
"""split → file names of its list: text, or HGR's array of names."""


class Clips:
    """Captions and splits of clips."""

    def __init__(self) -> None:
        self.splits: dict[str, str] = {}
        """clip → split; clips without one are omitted"""
        self.notes: list[str] = []
        self._captions: dict[str, dict[str, dict[str, list[str]]]] = {}
        self._empty: list[str] = []

    def add(self, clip: str, language: str, kind: str, text: Any, where: str) -> None:
        """Add a caption; an empty one is skipped, and counted.

        Args:
            clip: name of the clip.
            language: of the caption.
            kind: of the caption.
            text: the caption; anything but a string is an error.
            where: its location, for errors.
        """
        if not isinstance(text, str):
            raise PolyglanceError(f"{where}: a caption must be text, not {text!r}")
        if not text.strip():
            self._empty.append(where)
            return
        kinds = self._captions.setdefault(clip, {}).setdefault(language, {})
        kinds.setdefault(kind, []).append(caption(text, where))

    def languages(self, clip: str) -> list[str]:
        """The languages of a clip's captions."""
        return list(self._captions.get(clip, ()))

    def keep_only(self, clip: str, language: str, text: str, where: str) -> None:
        """Replace a clip's captions with a single independent one.

        Args:
            clip: name of the clip.
            language: of the caption.
            text: the caption.
            where: its location, for errors.
        """
        self._captions.pop(clip, None)
        self.add(clip, language, "independent", text, where)

    def of_split(self, split: str) -> list[str]:
        """The captioned clips of a split."""
        return [clip for clip in self._captions if self.splits.get(clip) == split]

    def move(self, clips: Iterable[str], split: str) -> None:
        """Move clips to another split."""
        self.splits |= dict.fromkeys(clips, split)

    def fill_val(self) -> None:
        """If there is no validation split, create one from training clips, chosen by a hash."""
        train = self.of_split("train")
        if self.of_split("val") or len(train) < 2:
            return
        held = hold_out(train, max(1, round(VAL_SHARE * len(train))))
        self.move(held, "val")
        self.notes.append(f"there is no validation split: {len(held)} training clips were held out")

    def finish(self, source: Path, frames: str, name: str, most: int) -> Conversion:
        """The conversion, of captioned clips with a split and a usable array.

        Args:
            source: of the captions.
            frames: folder of the arrays; if empty, the source.
            name: of the features.
            most: most frames per clip; 0 for all.
        """
        found = dict.fromkeys(("train", "val", "test")) | dict.fromkeys(self.splits.values())
        in_split = [clip for split in found for clip in self.of_split(split)]
        if not in_split:
            raise PolyglanceError(f"{source}: no captions of clips in a split")
        folder = Path(frames) if frames else source
        features, usable, notes = import_frames(in_split, folder, name, most)
        entries = [
            CaptionedImage(clip, self.splits[clip], self._captions[clip])
            for clip in in_split
            if clip in usable
        ]
        if left := len(self._captions) - len(in_split):
            notes.append(f"left out, in no split: {left}")
        if self._empty:
            notes.append(
                f"left out, empty captions: {len(self._empty)} (the first: {self._empty[0]})"
            )
        return Conversion(entries, {}, [features], [*self.notes, *notes], "clips")


def hold_out(names: Iterable[str], count: int) -> list[str]:
    """Choose `count` names by hash, independently of their order.

    >>> hold_out(["a", "b", "c"], 1) == hold_out(["c", "a", "b"], 1)
    True
    """
    return sorted(names, key=lambda name: (short_digest([name], 64), name))[:count]


def read_lists(folder: Path) -> dict[str, str]:
    """Clip → split, from train.txt, val.txt and test.txt, or HGR's trn_names.npy etc."""
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder")
    splits: dict[str, str] = {}
    for split, names in LISTS.items():
        for path in (folder / name for name in names if (folder / name).is_file()):
            add_to_split(splits, _listed(path), split, path)
    if not splits:
        described = ", ".join("/".join(names) for names in LISTS.values())
        raise PolyglanceError(f"{folder}: contains no list of clips ({described})")
    return splits


def _listed(path: Path) -> list[str]:
    if path.suffix == ".txt":
        return image_list(path)
    try:
        names = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise PolyglanceError(
            f"{path}: not a readable array of names ({error}); save it as a .txt, one name per line"
        ) from None
    if names.ndim != 1 or names.dtype.kind not in "US":
        raise PolyglanceError(
            f"{path}: contains {names.dtype} of {names.shape}, not a list of names"
        )
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]


def check_options(images: Path | None, lists: str, split: str, *splits: str) -> None:
    """Raise an error for options that a video layout does not support, or not together.

    Args:
        images: must be None, since clips are arrays.
        lists: folder of lists of clips; only with the default split.
        split: the user's choice.
        splits: the possible values, the default first.
    """
    if images is not None:
        raise PolyglanceError(f"{images}: clips are arrays, without image files; remove --pictures")
    one_of("split", split, *splits)
    if lists and split != splits[0]:
        raise PolyglanceError("use -o lists= or -o split=, not both")


def text_field(entry: Any, field: str, where: str) -> str:
    """A non-empty text field of an entry.

    Args:
        entry: an entry of a JSON list.
        field: name of the field.
        where: location of the entry, for errors.
    """
    value = entry.get(field) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise PolyglanceError(f"{where}: field '{field}' must be text")
    return value


def json_files(source: Path, *patterns: str) -> list[Path]:
    """The files below a folder that match the first pattern with any matches.

    Two files with the same name are an error, since their captions would be counted twice.
    """
    if not source.is_dir():
        raise PolyglanceError(
            f"{source}: not a folder; name the one with the captions and the arrays"
        )
    for pattern in patterns:
        if files := sorted(source.rglob(pattern)):
            names = [path.name for path in files]
            if twice := [path for path in files if names.count(path.name) > 1]:
                raise PolyglanceError(f"{twice[0]} and {twice[1]}: remove one of them")
            return files
    raise PolyglanceError(f"{source}: there is no {' or '.join(patterns)}")
