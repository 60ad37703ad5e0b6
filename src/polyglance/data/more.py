"""Further captions of images that a dataset has: files in the form of captions.jsonl.gz."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from polyglance.data.dataset import Dataset, read_entries
from polyglance.data.merge import join_captions
from polyglance.errors import PolyglanceError


def with_more(dataset: Dataset, files: Sequence[str], split: str) -> Dataset:
    """A dataset whose images of a split have the captions of files, too.

    Rows of another split, in the file or in the dataset, are not read: what a model is evaluated
    on stays as it is.

    Args:
        dataset: images with captions.
        files: each with lines {"image", "split", "captions"}.
        split: the only one that gets captions.
    """
    if not files:
        return dataset
    places = {e.image: i for i, e in enumerate(dataset.images) if e.split == split}
    images = list(dataset.images)
    for name in files:
        path = Path(name).expanduser()
        found = 0
        for entry in read_entries(path):
            place = places.get(entry.image)
            if place is not None and entry.split == split:
                images[place] = join_captions(images[place], entry)
                found += 1
        if not found:
            raise PolyglanceError(
                f"data.more: {path}: names no image of split '{split}' of {dataset.label}"
            )
    return replace(dataset, images=images)
