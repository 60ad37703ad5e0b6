"""Ways to prepare images that go wrong; a process of their own imports them."""

import os
import signal
import warnings

import numpy as np
from PIL import Image

from polyglance.vision.networks.preprocess import Preprocessing


class Slow(Preprocessing):
    """Never gets done."""

    def apply(self, image: Image.Image) -> np.ndarray:
        signal.pause()
        raise AssertionError


class Deadly(Preprocessing):
    """Ends the process on a black image, as a decoder's fault would."""

    def apply(self, image: Image.Image) -> np.ndarray:
        if image.getextrema() == ((0, 0),) * 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().apply(image)


class Talkative(Preprocessing):
    """Writes to stderr, as libraries of C do."""

    def apply(self, image: Image.Image) -> np.ndarray:
        os.write(2, b"libtiff: bad\n")
        warnings.warn("libtiff", stacklevel=1)
        return super().apply(image)
