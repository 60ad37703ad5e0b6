"""The character map of a SentencePiece vocabulary: NFKC and a few more rules."""

import re

import numpy as np

_SPACES = re.compile(" +")


class CharacterMap:
    """Replaces the longest matching byte sequences.

    Args:
        units: [u] uint32, a double array (darts-clone) of byte sequences.
        replacements: zero-terminated replacements.
    """

    def __init__(self, units: np.ndarray, replacements: bytes) -> None:
        self._units = units.data
        self._replacements = replacements

    def __call__(self, text: str) -> str:
        data, place, parts = text.encode("utf-8", "replace"), 0, []
        while place < len(data):
            length, found = self._match(data, place)
            if not length:
                length = _width(data[place])
                found = data[place : place + length]
            parts.append(found)
            place += length
        return _SPACES.sub(" ", b"".join(parts).decode("utf-8", "replace"))

    def _match(self, data: bytes, place: int) -> tuple[int, bytes]:
        """Length of the longest matching sequence at `place`, and its replacement."""
        units = self._units
        if not len(units):
            return 0, b""
        node, length, value = _offset(units[0]), 0, 0
        for step in range(place, len(data)):
            node ^= data[step]
            unit = units[node]
            if unit & 0x800000FF != data[step]:
                break
            node ^= _offset(unit)
            if unit & 0x100:  # a sequence ends here
                length, value = step + 1 - place, units[node] & 0x7FFFFFFF
        if not length:
            return 0, b""
        return length, self._replacements[value : self._replacements.index(b"\0", value)]


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


def _width(byte: int) -> int:
    """Length in bytes of a character, from its first byte."""
    return 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
