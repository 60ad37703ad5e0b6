"""Merges datasets that share images, such as COCO in English, Chinese and Japanese."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polyglance.data.convert.common import add_to_split, image_list
from polyglance.data.convert.write import match_names, name_number
from polyglance.data.dataset import CaptionedImage, Captions, Dataset, Origins
from polyglance.errors import PolyglanceError


@dataclass
class Merged:
    """Images with the captions of all datasets, their files, and notes for the user."""

    images: list[CaptionedImage]
    sources: dict[str, Path] = field(default_factory=dict)
    """Image → its file, from the first dataset that has it."""
    renamed: list[dict[str, str]] = field(default_factory=list)
    """For each dataset, the new names of its images."""
    notes: list[str] = field(default_factory=list)


def merge_datasets(
    datasets: Sequence[Dataset],
    splits: Mapping[str, str] | None = None,
    languages: Collection[str] | None = None,
    shared: bool = False,
) -> Merged:
    """The images of all datasets, with the captions of all datasets.

    Images are identified by their names, or by their COCO or Flickr numbers:
    `COCO_train2014_000000000009.jpg` is `000000000009.jpg`. Duplicate captions are kept once. If
    splits differ, that of the first dataset is used.

    Args:
        datasets: at least two; names and order of the first have precedence.
        splits: image → split, overriding those of the datasets; other images are omitted.
        languages: of the captions to include, all by default.
        shared: whether to omit images that only one dataset has.
    """
    if len(datasets) < 2:
        raise PolyglanceError("name at least two datasets to merge")
    found = _Merge(datasets[0])
    renamed = [found.add(dataset, languages) for dataset in datasets]
    images = list(found.entries.values())
    notes = found.notes(datasets)
    if shared:
        count = Counter(name for names in renamed for name in set(names.values()))
        images = [entry for entry in images if count[entry.image] > 1]
        notes.append(f"{len(found.entries) - len(images)} images of only one dataset were left out")
    if splits is not None:
        images, left = _resplit(images, splits)
        notes += [f"{left} images are in no list of splits and were left out"] if left else []
    images = [entry for entry in images if entry.captions]
    if not images:
        raise PolyglanceError("nothing left to merge; do the datasets share images?")
    kept = {entry.image for entry in images}
    files = {name: path for name, path in found.files.items() if name in kept}
    return Merged(images, files, renamed, notes)


def read_splits(folder: Path) -> dict[str, str]:
    """Image → split, from a folder's `train.txt`, `val.txt` and `test.txt`, one image per line."""
    found: dict[str, str] = {}
    for split in ("train", "val", "test"):
        path = folder / f"{split}.txt"
        if path.is_file():
            add_to_split(found, image_list(path), split, path)
    if not found:
        raise PolyglanceError(f"{folder}: has no train.txt, val.txt or test.txt with image names")
    return found


class _Merge:
    """Entries by their names in the first dataset that has them."""

    def __init__(self, first: Dataset) -> None:
        self.entries: dict[str, CaptionedImage] = {}
        self.files: dict[str, Path] = {}
        self.moved: Counter[str] = Counter()
        self._known: dict[str, str] = {}
        names = Counter(entry.image for entry in first.images)
        if twice := [name for name, count in names.items() if count > 1]:
            raise PolyglanceError(f"{first.label}: the image '{twice[0]}' occurs twice")

    def add(self, dataset: Dataset, languages: Collection[str] | None) -> dict[str, str]:
        """Add a dataset's captions; returns the new names of its images."""
        names: dict[str, str] = {}
        for entry in dataset.images:
            number = name_number(entry.image)
            same = self._known.get(entry.image) or (self._known.get(number) if number else None)
            name = names[entry.image] = same or entry.image
            old = self.entries.get(name, CaptionedImage(name, entry.split, {}))
            if old.split != entry.split:
                self.moved[f"{entry.split} of {dataset.name} → {old.split}"] += 1
            self.entries[name] = join_captions(old, entry, languages)
            path = dataset.path(entry)
            if name not in self.files and path.is_file():
                self.files[name] = path.absolute()
        self._known = match_names(self.entries)
        return names

    def notes(self, datasets: Sequence[Dataset]) -> list[str]:
        """Notes for the user."""
        found = [
            f"{count} images changed their split: {what}" for what, count in self.moved.items()
        ]
        total = sum(len(dataset) for dataset in datasets)
        return [
            *found,
            f"{total} images of {len(datasets)} datasets were merged into {len(self.entries)}",
        ]


def join_captions(
    old: CaptionedImage, new: CaptionedImage, languages: Collection[str] | None = None
) -> CaptionedImage:
    """Add the captions of another entry of the same image, without duplicates.

    Args:
        old: the entry to extend; its captions come first.
        new: the entry to add.
        languages: of the captions to add, all by default.
    """
    captions: Captions = {code: dict(kinds) for code, kinds in old.captions.items()}
    origins: Origins = {code: dict(kinds) for code, kinds in old.origins.items()}
    for code, kinds in new.captions.items():
        if languages is not None and code not in languages:
            continue
        for kind, texts in kinds.items():
            known = captions.setdefault(code, {}).get(kind, [])
            fresh = [i for i, text in enumerate(texts) if text not in known]
            captions[code][kind] = [*known, *(texts[i] for i in fresh)]
            made = new.origins.get(code, {}).get(kind)
            before = origins.get(code, {}).get(kind, [])
            if made is not None and len(before) == len(known):
                origins.setdefault(code, {})[kind] = [*before, *(made[i] for i in fresh)]
            elif fresh and before:  # unknown for some captions, so dropped for all
                del origins[code][kind]
    return replace(old, captions=captions, origins=origins)


def _resplit(
    images: list[CaptionedImage], splits: Mapping[str, str]
) -> tuple[list[CaptionedImage], int]:
    """Assign the listed splits; returns the images, and how many are in no list."""
    exact: dict[str, Any] = match_names(splits)
    found = []
    for entry in images:
        name = exact.get(entry.image) or exact.get(name_number(entry.image))
        if name is not None:
            found.append(replace(entry, split=splits[name]))
    return found, len(images) - len(found)
