"""Perceptual hashes: similar images have hashes that differ in few bits."""

import numpy as np
from PIL import Image

SIDE, KEPT = 32, 8


def perceptual_hash(image: Image.Image) -> int:
    """Perceptual hash of an RGB image: which of its 64 lowest frequencies exceed their median.

    Size, compression and small changes of colour hardly matter; a mirrored, rotated or cropped
    image has a different hash.
    """
    grey = image.resize((SIDE, SIDE), Image.Resampling.BOX).convert("L")
    lowest = (_COSINES @ np.asarray(grey, np.float64) @ _COSINES.T).ravel()
    bits = lowest > np.median(lowest[1:])
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def _cosines() -> np.ndarray:
    """The first rows [KEPT, SIDE] of the cosine transform DCT-II."""
    frequency, place = np.mgrid[:KEPT, :SIDE]
    return np.cos(np.pi * frequency * (2 * place + 1) / (2 * SIDE))


_COSINES = _cosines()


def differing_bits(hashes: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Number of differing bits of hashes uint64 [n] and [m], [n, m]."""
    different = hashes[:, None] ^ other[None]
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(different)
    return np.unpackbits(different[..., None].view(np.uint8), axis=-1).sum(-1, dtype=np.uint8)
