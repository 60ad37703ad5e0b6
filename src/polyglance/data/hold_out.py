"""A part of the training images to evaluate on, where a dataset has no such split."""

from dataclasses import replace

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError


def hold_out(dataset: Dataset, share: float = 0.2, split: str = "val", seed: int = 0) -> Dataset:
    """The dataset as it is if it has the split, else with a share of `train` moved there.

    Args:
        dataset: the dataset; it is not changed.
        share: of the training images, more than 0 and less than 1.
        split: the split that is to be there.
        seed: chooses the images.
    """
    if split in dataset.splits:
        return dataset
    train = [row for row, entry in enumerate(dataset.images) if entry.split == "train"]
    count = round(share * len(train))
    if count < 1 or count == len(train):
        raise PolyglanceError(
            f"{dataset.label}: {len(train)} training images are too few to hold some out; "
            f"give more, or a split '{split}'"
        )
    held = set(np.random.default_rng(seed).permutation(train)[:count].tolist())
    entries = [
        replace(entry, split=split) if row in held else entry
        for row, entry in enumerate(dataset.images)
    ]
    return replace(dataset, images=entries)
