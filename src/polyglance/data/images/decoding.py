"""How much memory images take while they are decoded, in all threads together."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

AT_A_TIME = 600_000_000
"""Bytes of all images that are decoded at a time; one that takes more is decoded alone."""

_STORED = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}
"""Bytes of a pixel in Pillow's memory; all others have 4, RGB too."""
_GREY, _RGB = 1, 4
_EXTRA = {"WEBP": 8, "AVIF": 8, "HEIF": 8, "JPEG2000": 16, "GIF": 4}
"""Bytes of a pixel that a format's decoder holds besides."""
_COEFFICIENTS = 6
"""Of a pixel of a progressive JPEG, whatever size comes out."""


def decoding_bytes(image: Image.Image, whole: int) -> int:
    """Memory at the peak, from an opened image to the RGB one that is made of it.

    Args:
        image: opened, not decoded, and of the size that will be decoded.
        whole: pixels of the file, which a JPEG decoder can reduce.
    """
    stored = _STORED.get(image.mode, 4)
    grey = _GREY if image.mode.startswith(("I", "F")) else 0
    # While it is turned upright it is there twice, and afterwards beside its RGB form.
    pixel = max(2 * stored, stored + grey + _RGB) + _EXTRA.get(image.format or "", 0)
    held = _COEFFICIENTS * whole if image.info.get("progressive") else 0
    return pixel * image.width * image.height + held


class Budget:
    """Bytes that threads share; who asks for more than are left waits."""

    def __init__(self, total: int) -> None:
        self.total, self._held = total, 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, count: int) -> Iterator[None]:
        """Hold `count` bytes; more than all are given to one that is alone."""
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
"""Of this process."""
