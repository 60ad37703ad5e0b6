"""Holds out training images for evaluation if a dataset has no split for it."""

from dataclasses import replace

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.data.table import unit_hash
from polyglance.errors import PolyglanceError

SHARE, LEAST = 0.2, 20
"""Share of the images that fine-tuning holds out, and the least number, up to a third."""


def hold_out(dataset: Dataset, share: float = SHARE, split: str = "val", seed: int = 0) -> Dataset:
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
    order = np.random.default_rng(seed).permutation(train).tolist()
    return _moved(dataset, order, round(share * len(train)), split)


def hold_out_for_tuning(dataset: Dataset, split: str = "val") -> Dataset:
    """The dataset with the images that fine-tuning holds out in `split`.

    These are the split of that name or, without one, a fifth of the training images, but at least
    20 if these are at most a third. Splits by a hash, which a table without a column `split` has,
    leave too few for a small table: of those, the fifth with the largest hashes is held out, which
    contains nearly always the hash's own `val` and `test`, and the rest is trained on.

    Args:
        dataset: not modified.
        split: the required split.
    """
    if dataset.hashed:
        order = np.argsort([-unit_hash(entry.image) for entry in dataset.images], kind="stable")
        images = [replace(entry, split="train") for entry in dataset.images]
        dataset = replace(dataset, images=images, hashed=False)
        return _moved(dataset, order.tolist(), _count(len(images)), split)
    if split in dataset.splits:
        return dataset
    count = sum(entry.split == "train" for entry in dataset.images)
    return hold_out(dataset, _count(count) / max(count, 1), split)


def _count(images: int) -> int:
    return max(round(SHARE * images), min(LEAST, images // 3))


def _moved(dataset: Dataset, order: list[int], count: int, split: str) -> Dataset:
    """The dataset with the first `count` of the training images `order` moved to `split`."""
    if count < 1 or count == len(order):
        few = "1 training image is" if len(order) == 1 else f"{len(order)} training images are"
        raise PolyglanceError(
            f"{dataset.label}: {few} too few to hold some out; add more, or a split '{split}'"
        )
    held = set(order[:count])
    entries = [
        replace(entry, split=split) if row in held else entry
        for row, entry in enumerate(dataset.images)
    ]
    return replace(dataset, images=entries)


def held_out_part(dataset: Dataset, split: str = "val", tuned: bool = False) -> Dataset:
    """A split; the part that fine-tuning holds out if there is no "val", or only one by a hash.

    Args:
        dataset: with images that a model was not trained on.
        split: to return.
        tuned: whether the model was fine-tuned.
    """
    if dataset.hashed and not tuned:
        return dataset.split(split)
    if dataset.hashed or (split == "val" and "train" in dataset.splits):
        dataset = hold_out_for_tuning(dataset, split)
    return dataset.split(split)
