"""The captions of images in one language, image by image."""

from collections.abc import Collection

import numpy as np


class CaptionsByImage:
    """Rows sorted by image, so that the captions of an image are contiguous.

    The captions of image number i are `rows[first[i] : first[i] + count[i]]`.

    Args:
        rows: captions, of one language.
        image: [n], image of each of all captions.
        images: [m], those to index.
    """

    def __init__(self, rows: np.ndarray, image: np.ndarray, images: np.ndarray) -> None:
        self.rows = rows[np.argsort(image[rows], kind="stable")]
        self.first = np.searchsorted(image[self.rows], images)
        self.count = np.searchsorted(image[self.rows], images, side="right") - self.first


def updates_over_captions(runs: Collection[CaptionsByImage], batch_size: int) -> int:
    """Updates per pass over the captions of the language with most of them: n // batch, as in
    MULE's code (`len(sentences) // batch`); at least 1."""
    return max(1, max(len(run.rows) for run in runs) // batch_size)
