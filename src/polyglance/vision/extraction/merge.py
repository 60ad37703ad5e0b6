"""Merges the imported features of datasets, under the names of the merged images."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from polyglance.data.convert.common import ImportedFeatures
from polyglance.data.dataset import Dataset
from polyglance.vision.extraction.extract import imported_names
from polyglance.vision.extraction.store import FeatureStore


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
