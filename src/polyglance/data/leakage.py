"""Keeps captions of evaluation images out of text-only training data."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionedImage, CaptionTable, Dataset, read_entries


def held_out_texts(dataset: Dataset, files: Sequence[str], split: str) -> frozenset[str]:
    """Keys of the captions of all splits except one.

    Args:
        dataset: images with captions.
        files: with further captions of its images (`data.more`).
        split: the training split.
    """
    entries = [entry for entry in dataset.images if entry.split != split]
    for name in files:
        entries += (e for e in read_entries(Path(name).expanduser()) if e.split != split)
    return frozenset(text_key(text) for entry in entries for text in _texts(entry))


def without_texts(table: CaptionTable, keys: frozenset[str]) -> CaptionTable:
    """Remove tuples with a text that has one of the keys.

    The whole tuple is removed, because its other texts are translations of that caption.
    """
    hit = [text_key(text) in keys for text in table.texts]
    tuples = np.unique(table.image[np.array(hit, bool)])
    return table.take(np.flatnonzero(~np.isin(table.image, tuples)))


def text_key(text: str) -> str:
    """A text without case, spaces and punctuation: the same however it is tokenized.

    >>> text_key("A dog, running.") == text_key("a dog running")
    True
    """
    return "".join(filter(str.isalnum, text.casefold()))


def _texts(entry: CaptionedImage) -> list[str]:
    return [text for kinds in entry.captions.values() for own in kinds.values() for text in own]
