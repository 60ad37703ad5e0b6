"""The captions of images in one language, image by image."""

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
