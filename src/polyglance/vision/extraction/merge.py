"""Merges datasets with their imported features and text-only captions into a folder."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.data.convert.common import Conversion, ImportedFeatures
from polyglance.data.convert.write import ImageMode, write_folder
from polyglance.data.dataset import Dataset
from polyglance.data.load import load_dataset
from polyglance.data.merge import merge_datasets, read_splits
from polyglance.data.text_only import text_only_file
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.storage.digest import json_digest
from polyglance.storage.files import read_jsonl
from polyglance.vision.extraction.extract import imported_names
from polyglance.vision.extraction.imported import write_store
from polyglance.vision.extraction.store import FeatureStore


def merge_folders(
    out: str | Path,
    sources: Sequence[Dataset | str | Path],
    lists: Path | None = None,
    languages: Collection[str] | None = None,
    shared: bool = False,
    images: ImageMode = "symlink",
    force: bool = False,
) -> Conversion:
    """Write the folder of datasets merged by `merge_datasets`, completely or not at all.

    It also has their imported features and text-only captions. The `notes` of the result say what
    was left out.

    Args:
        out: the new dataset folder.
        sources: two or more datasets; if splits differ, that of the first one is used.
        lists: folder with train.txt, val.txt and test.txt, which define the splits.
        languages: of the captions to keep; all by default.
        shared: whether to leave out images that only one dataset has.
        images: whether to link or copy image files.
        force: whether to update an existing folder.
    """
    out = Path(out)
    datasets = [one if isinstance(one, Dataset) else load_dataset(one) for one in sources]
    for dataset in datasets:
        if dataset.root is not None and out.resolve() == dataset.root.resolve():
            raise PolyglanceError(f"{out}: is one of the datasets; choose another folder")
    _check_languages(languages or (), datasets)
    splits = None if lists is None else read_splits(lists)
    merged = merge_datasets(datasets, splits, languages, shared)
    names = {entry.image for entry in merged.images}
    features, notes = merged_features(datasets, merged.renamed, names)
    found = Conversion(
        merged.images,
        merged.sources,
        features,
        merged.notes + notes,
        text_only=list(merged_text_only(datasets)),
    )
    write_folder(out, found, images, force, write_store)
    return found


def _check_languages(languages: Collection[str], datasets: Sequence[Dataset]) -> None:
    known = {code for dataset in datasets for code in dataset.languages}
    for code in languages:
        if code not in known:
            raise ArgumentError(
                f"`languages` {code}: no dataset has captions in it; "
                f"choose from {', '.join(sorted(known))}"
            )


def merged_text_only(datasets: Sequence[Dataset]) -> Iterator[Any]:
    """Lines of text-only captions of all datasets, each once."""
    seen = set()
    for dataset in datasets:
        path = text_only_file(dataset)
        for _, value in read_jsonl(path) if path is not None else ():
            if (key := json_digest(value)) not in seen:
                seen.add(key)
                yield value


def merged_features(
    datasets: Sequence[Dataset], renamed: Sequence[Mapping[str, str]], kept: Collection[str]
) -> tuple[list[ImportedFeatures], list[str]]:
    """Features of the merged dataset, and notes; the first dataset that has an image wins.

    Args:
        datasets: those merged.
        renamed: for each dataset, the new names of its images.
        kept: the remaining images.
    """
    parts: dict[str, list[tuple[FeatureStore, Mapping[str, str]]]] = {}
    notes = []
    for dataset, names in zip(datasets, renamed, strict=True):
        for feature in imported_names(dataset):
            name = feature.removeprefix("imported/")
            assert dataset.root is not None
            store = FeatureStore.open(dataset.root / "features" / name)
            own = parts.setdefault(name, [])
            if own and (own[0][0].dim, own[0][0].form) != (store.dim, store.form):
                notes.append(f"{feature} of {dataset.name} has a different form and was left out")
                continue
            own.append((store, names))
    kept = set(kept)
    return [_joined(name, own, kept) for name, own in parts.items()], notes


def _joined(
    name: str, parts: Sequence[tuple[FeatureStore, Mapping[str, str]]], kept: Collection[str]
) -> ImportedFeatures:
    def items() -> Iterator[tuple[str, np.ndarray]]:
        seen: set[str] = set()
        for store, names in parts:
            for key in store.keys():  # noqa: SIM118  (a store is not a mapping)
                image = names.get(key)
                if image in kept and image not in seen:
                    seen.add(str(image))
                    yield str(image), store.get(key)

    first = parts[0][0]
    return ImportedFeatures(name, first.dim, first.form, len(kept), items)
