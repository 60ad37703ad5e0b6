"""Statistics and problems of a dataset: counts, missing and unreadable files, leakage."""

import os
import warnings
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from polyglance.core.progress import track
from polyglance.data.dataset import Dataset
from polyglance.errors import ImageProblem
from polyglance.storage.digest import file_chunks, short_digest


@dataclass(frozen=True, slots=True)
class CaptionCount:
    """Number of captions of one split, language and kind; `least` and `most` are per image."""

    split: str
    language: str
    kind: str
    photos: int
    captions: int
    least: int
    most: int


@dataclass
class DatasetReport:
    """The findings of `inspect_dataset`, and the JSON of `data info`.

    Without problems, all lists are empty.
    """

    name: str
    photos: dict[str, int]
    """split → images"""
    counts: list[CaptionCount]
    has_images: bool
    decoded: bool
    missing: list[str] = field(default_factory=list)
    all_missing: bool = False
    """whether all image files are missing, although their folder exists"""
    broken: dict[str, str] = field(default_factory=dict)
    """image → why it cannot be decoded"""
    leaked: list[dict[str, list[str]]] = field(default_factory=list)
    """for each image that occurs in several splits: split → names"""
    repeated: list[dict[str, list[str]]] = field(default_factory=list)
    """for each image that occurs several times in one split: split → names"""
    shared_captions: dict[str, int] = field(default_factory=dict)
    """language → texts that occur in more than one split"""
    without: dict[str, list[str]] = field(default_factory=dict)
    """split → languages of the dataset without captions there"""
    uncaptioned: list[str] = field(default_factory=list)
    """images without captions"""

    @property
    def sound(self) -> bool:
        """Whether no image is missing, unreadable, leaked or repeated."""
        return not (self.missing or self.broken or self.leaked or self.repeated)


def inspect_dataset(
    dataset: Dataset, decode: bool = True, workers: int | None = None, show: bool | None = None
) -> DatasetReport:
    """Count captions and check image files.

    Args:
        dataset: the dataset.
        decode: whether to decode every file completely.
        workers: threads for decoding; the number of cores by default.
        show: whether to show a progress bar; by default in a terminal.
    """
    report = DatasetReport(
        dataset.name,
        {split: len(dataset.split(split)) for split in dataset.splits},
        count_captions(dataset),
        dataset.image_folder.is_dir(),
        decode and dataset.image_folder.is_dir(),
    )
    _check_captions(dataset, report)
    files = {entry.image: dataset.path(entry) for entry in dataset.images}
    if report.has_images:
        # For names that no file can have, os.path.isfile returns False instead of raising.
        report.missing = [name for name, path in files.items() if not os.path.isfile(path)]
        missing = set(report.missing)
        report.all_missing = 0 < len(files) == len(missing)
        files = {name: path for name, path in files.items() if name not in missing}
        if decode:
            report.broken = find_unreadable(files, workers, show)
    _check_duplicates(dataset, files if report.has_images else {}, report)
    return report


def count_captions(dataset: Dataset) -> list[CaptionCount]:
    """One row per split, language and kind with captions, sorted."""
    sizes: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for entry in dataset.images:
        for language, kinds in entry.captions.items():
            for kind, texts in kinds.items():
                if texts:
                    sizes[entry.split, language, kind].append(len(texts))
    order = {split: place for place, split in enumerate(dataset.splits)}
    keys = sorted(sizes, key=lambda key: (order[key[0]], key[1:]))
    return [
        CaptionCount(*key, len(sizes[key]), sum(sizes[key]), min(sizes[key]), max(sizes[key]))
        for key in keys
    ]


def find_unreadable(
    files: dict[str, Path], workers: int | None = None, show: bool | None = None
) -> dict[str, str]:
    """Decode every file, in parallel; image → reason for those that fail.

    Args:
        files: image → file.
        workers: threads; the number of cores by default.
        show: whether to show a progress bar; by default in a terminal.
    """
    with warnings.catch_warnings(), ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        warnings.simplefilter("ignore")
        reasons = track(
            pool.map(_decode_error, files.values()), "decoding", len(files), "images", show
        )
        return {name: why for name, why in zip(files, reasons, strict=True) if why}


def _decode_error(path: Path) -> str:
    from polyglance.data.images.read import decoded

    try:
        # Scaled JPEG decoding still reads the stream to its end, at a fraction of the cost.
        with decoded(path, at_least=32):
            return ""
    except ImageProblem as problem:
        return problem.reason


def find_duplicates(files: dict[str, Path]) -> list[list[str]]:
    """Groups of names whose files have the same content; reads only files of equal size."""
    sizes: dict[int, list[str]] = defaultdict(list)
    for name, path in files.items():
        sizes[path.stat().st_size].append(name)
    contents: dict[bytes, list[str]] = defaultdict(list)
    for names in sizes.values():
        for name in names if len(names) > 1 else ():
            contents[short_digest(file_chunks(files[name]), 64)].append(name)
    return [names for names in contents.values() if len(names) > 1]


def _check_captions(dataset: Dataset, report: DatasetReport) -> None:
    splits_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    table = dataset.captions()
    for text, index, language in zip(table.texts, table.image, table.languages, strict=True):
        splits_of[language, text].add(dataset.images[index].split)
    shared: dict[str, int] = defaultdict(int)
    present: dict[str, set[str]] = defaultdict(set)
    for (language, _), splits in splits_of.items():
        shared[language] += len(splits) > 1
        present[language] |= splits
    report.shared_captions = {code: count for code, count in sorted(shared.items()) if count}
    for split in dataset.splits:
        without = [code for code in dataset.languages if split not in present[code]]
        if without:
            report.without[split] = without
    captioned = set(table.image.tolist())
    report.uncaptioned = [p.image for i, p in enumerate(dataset.images) if i not in captioned]


def _check_duplicates(dataset: Dataset, files: dict[str, Path], report: DatasetReport) -> None:
    splits_of: dict[str, list[str]] = defaultdict(list)
    for entry in dataset.images:
        splits_of[entry.image].append(entry.split)
    duplicates = find_duplicates(files)
    grouped = {name for names in duplicates for name in names}
    singles = [[name] for name in splits_of if name not in grouped]
    for names in (*duplicates, *singles):
        by_split = _by_split(names, splits_of)
        if len(by_split) > 1:
            report.leaked.append(by_split)
        if twice := {split: found for split, found in by_split.items() if len(found) > 1}:
            report.repeated.append(twice)


def _by_split(names: Iterable[str], splits_of: dict[str, list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        for split in splits_of[name]:
            found[split].append(name)
    return dict(found)
