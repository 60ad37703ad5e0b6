"""Captions of images that are not trained on, so that no text without an image repeats them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionedImage, CaptionTable, Dataset, read_entries


def held_out_texts(dataset: Dataset, files: Sequence[str], split: str) -> frozenset[str]:
    """Keys of the captions of all splits but one.

    Args:
        dataset: images with captions.
        files: further captions of its images, as `data.more` names them.
        split: the one that is trained on.
    """
    entries = [entry for entry in dataset.images if entry.split != split]
    for name in files:
        entries += (e for e in read_entries(Path(name).expanduser()) if e.split != split)
    return frozenset(text_key(text) for entry in entries for text in _texts(entry))


def without_texts(table: CaptionTable, keys: frozenset[str]) -> CaptionTable:
    """The tuples none of whose texts has one of the keys.

    The whole tuple goes: its other texts are translations of that caption.
    """
    hit = [text_key(text) in keys for text in table.texts]
    tuples = np.unique(table.image[np.array(hit, bool)])
    return table.take(np.flatnonzero(~np.isin(table.image, tuples)))


def text_key(text: str) -> str:
    """A text without case, spaces and punctuation: texts with the same key are the same.

    >>> text_key("A dog, running.") == text_key("a dog running")
    True
    """
    return "".join(filter(str.isalnum, text.casefold()))


def _texts(entry: CaptionedImage) -> list[str]:
    return [text for kinds in entry.captions.values() for own in kinds.values() for text in own]
