"""Crisscrossed Captions: human ratings of pairs of COCO images and captions.

Parekh et al. 2021, "Crisscrossed Captions: Extended Intramodal and Intermodal Semantic Similarity
Judgments for MS-COCO". The CSV files refer to captions by Karpathy's `sentid`, so they need his
dataset_coco.json.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.files import open_text, read_json

LISTING = "dataset_coco.json"
TASKS = {"sits": ("caption", "image"), "sts": ("caption1", "caption2"), "sis": ("image1", "image2")}
"""File → columns of a rated pair: caption and image, two captions, or two images."""


@dataclass(frozen=True)
class Ratings:
    """Rated pairs: indices `first` [n] and `second` [n] of images or captions, `score` [n] 0–5."""

    first: np.ndarray
    second: np.ndarray
    score: np.ndarray

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class Crisscrossed:
    """The image names [N] and captions [M] of a split, and the ratings of each task."""

    images: list[str]
    texts: list[str]
    caption_image: np.ndarray
    ratings: dict[str, Ratings]


def read_crisscrossed(
    folder: Path, split: str = "test", listing: Path | None = None
) -> Crisscrossed:
    """Read sits_SPLIT.csv, sts_SPLIT.csv and sis_SPLIT.csv.

    Args:
        folder: of the files.
        split: Karpathy's `val` or `test`.
        listing: dataset_coco.json; by default the one in the folder.
    """
    images, texts, owner, captions = _read_listing(listing or folder / LISTING, split)
    numbers = {"caption": captions, "image": {name: n for n, name in enumerate(images)}}
    ratings = {
        task: _read_ratings(folder / f"{task}_{split}.csv", columns, numbers)
        for task, columns in TASKS.items()
    }
    return Crisscrossed(images, texts, np.array(owner, np.int64), ratings)


def _read_listing(path: Path, split: str) -> tuple[list[str], list[str], list[int], dict[str, int]]:
    """Images and captions of a split, the image of each caption, and caption indices by sentid."""
    value: Any = read_json(path)
    entries = value.get("images") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise PolyglanceError(f"{path}: not Karpathy's layout, it has no list 'images'")
    images: list[str] = []
    texts: list[str] = []
    owner: list[int] = []
    captions: dict[str, int] = {}
    for number, entry in enumerate(entries):
        try:
            if entry["split"] != split:
                continue
            for sentence in entry["sentences"]:
                captions[str(sentence["sentid"])] = len(texts)
                texts.append(str(sentence["raw"]))
                owner.append(len(images))
            images.append(str(entry["filename"]))
        except (KeyError, TypeError) as error:
            raise PolyglanceError(
                f"{path}, images[{number}]: needs filename, split and sentences with sentid and "
                f"raw ({error})"
            ) from None
    if not images:
        raise PolyglanceError(f"{path}: has no image of split '{split}'; use val or test")
    return images, texts, owner, captions


def _read_ratings(
    path: Path, columns: tuple[str, str], numbers: Mapping[str, Mapping[str, int]]
) -> Ratings:
    rows: list[tuple[int, int, float]] = []
    with open_text(path) as handle:
        reader = csv.DictReader(handle)
        if missing := {*columns, "agg_score"} - set(reader.fieldnames or ()):
            raise PolyglanceError(
                f"{path}: has no column '{min(missing)}'; it needs {', '.join(columns)} and "
                "agg_score"
            )
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            pair = [_number(row[column], column, numbers, where) for column in columns]
            try:
                rows.append((pair[0], pair[1], float(row["agg_score"])))
            except (TypeError, ValueError):
                raise PolyglanceError(
                    f"{where}: agg_score '{row['agg_score']}' is not a number"
                ) from None
    if not rows:
        raise PolyglanceError(f"{path}: has no rated pairs")
    first, second, score = zip(*rows, strict=True)
    return Ratings(np.array(first), np.array(second), np.array(score))


def _number(
    text: str | None, column: str, numbers: Mapping[str, Mapping[str, int]], where: str
) -> int:
    """Index of an image, from its name, or of a caption, from COCO_val2014:sentid:NUMBER."""
    kind = column.rstrip("12")
    name = str(text).rpartition(":")[2] if kind == "caption" else str(text)
    if name not in numbers[kind]:
        raise PolyglanceError(f"{where}: {kind} '{text}' is not in the split of {LISTING}")
    return numbers[kind][name]
