"""Limits the memory that threads use for decoding images."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

AT_A_TIME = 600_000_000
"""Bytes for images decoded at the same time; a larger one is decoded alone."""

_STORED = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}
"""Bytes per pixel in Pillow by mode; 4 for all others, including RGB."""
_GREY, _RGB = 1, 4
_EXTRA = {"WEBP": 8, "AVIF": 8, "HEIF": 8, "JPEG2000": 16, "GIF": 4}
"""Additional bytes per pixel of a format's decoder."""
_COEFFICIENTS = 6
"""Bytes per pixel of a progressive JPEG's coefficients, even if it is decoded at reduced size."""


def decoding_bytes(image: Image.Image, whole: int) -> int:
    """Peak memory for decoding an opened image and converting it to RGB.

    Args:
        image: opened, not decoded, with the size at which it will be decoded.
        whole: pixels of the file, before any reduction by the JPEG decoder.
    """
    stored = _STORED.get(image.mode, 4)
    grey = _GREY if image.mode.startswith(("I", "F")) else 0
    # Rotation needs a copy; afterwards there is the image and its RGB version.
    pixel = max(2 * stored, stored + grey + _RGB) + _EXTRA.get(image.format or "", 0)
    coefficients = _COEFFICIENTS * whole if image.info.get("progressive") else 0
    return pixel * image.width * image.height + coefficients


class Budget:
    """Bytes shared by threads, which wait if there are not enough left."""

    def __init__(self, total: int) -> None:
        self.total, self._held = total, 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, count: int) -> Iterator[None]:
        """Reserve `count` bytes; more than the total is granted if nothing else is reserved."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._held + count <= self.total)
            self._held += count
        try:
            yield
        finally:
            with self._changed:
                self._held -= count
                self._changed.notify_all()


memory = Budget(AT_A_TIME)
"""The budget of this process."""
