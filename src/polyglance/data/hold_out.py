"""Holds out training images for evaluation if a dataset has no split for it."""

from dataclasses import replace

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError


def hold_out(dataset: Dataset, share: float = 0.2, split: str = "val", seed: int = 0) -> Dataset:
    """The dataset, with a share of `train` moved to `split` if it has no such split.

    Args:
        dataset: not modified.
        share: of the training images, more than 0 and less than 1.
        split: the required split.
        seed: of the random choice.
    """
    if split in dataset.splits:
        return dataset
    train = [row for row, entry in enumerate(dataset.images) if entry.split == "train"]
    count = round(share * len(train))
    if count < 1 or count == len(train):
        few = "1 training image is" if len(train) == 1 else f"{len(train)} training images are"
        raise PolyglanceError(
            f"{dataset.label}: {few} too few to hold some out; add more, or a split '{split}'"
        )
    held = set(np.random.default_rng(seed).permutation(train)[:count].tolist())
    entries = [
        replace(entry, split=split) if row in held else entry
        for row, entry in enumerate(dataset.images)
    ]
    return replace(dataset, images=entries)


def held_out_part(dataset: Dataset, split: str = "val") -> Dataset:
    """The images of a split that training does not use.

    If there is no split "val", it is what `hold_out` takes from "train", as fine-tuning does.
    """
    if split == "val" and "train" in dataset.splits:
        dataset = hold_out(dataset, split=split)
    return dataset.split(split)
