"""The captions of images in one language, image by image."""

from collections.abc import Collection

import numpy as np


class CaptionRuns:
    """Rows sorted by image, so that an image's captions are one run of them.

    The captions of image number i are `rows[first[i] : first[i] + count[i]]`.
    """

    def __init__(self, rows: np.ndarray, image: np.ndarray, images: np.ndarray) -> None:
        """Captions `rows` of a language; `image` [n] of all captions; `images` [m] to number."""
        self.rows = rows[np.argsort(image[rows], kind="stable")]
        self.first = np.searchsorted(image[self.rows], images)
        self.count = np.searchsorted(image[self.rows], images, side="right") - self.first


def updates_over_captions(runs: Collection[CaptionRuns], batch_size: int) -> int:
    """Updates of a pass over the captions of the language that has most: n // batch, as MULE's
    code counts (`len(sentences) // batch`); 1 at least."""
    return max(1, max(len(run.rows) for run in runs) // batch_size)
