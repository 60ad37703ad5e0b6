"""Further captions of a dataset's images, in files like captions.jsonl.gz."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from polyglance.data.dataset import Dataset, read_entries
from polyglance.data.merge import join_captions
from polyglance.errors import PolyglanceError


def with_extra_captions(dataset: Dataset, files: Sequence[str], split: str) -> Dataset:
    """Add the captions of files to a dataset's images of one split.

    Other splits, of the files or the dataset, are unaffected, so evaluation stays the same.

    Args:
        dataset: images with captions.
        files: each with lines {"image", "split", "captions"}.
        split: the split to add captions to.
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
                f"data.more: {path}: has no image of split '{split}' of {dataset.label}"
            )
    return replace(dataset, images=images)
