"""Small SentencePiece vocabularies, written byte by byte."""

import struct
from collections.abc import Mapping

MARKS = {"<unk>": 2, "<s>": 3, "</s>": 3}
"""Names and types of the pieces that come first."""


def field(number: int, value: bytes) -> bytes:
    """A field of bytes of a message."""
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def piece(text: str, score: float, kind: int) -> bytes:
    scored = bytes([2 << 3 | 5]) + struct.pack("<f", score)
    return field(1, field(1, text.encode()) + scored + bytes([3 << 3, kind]))


def write_vocabulary(scores: Mapping[str, float]) -> bytes:
    """The bytes of a vocabulary; pieces have ids from 3 on."""
    marks = [piece(text, 0.0, kind) for text, kind in MARKS.items()]
    return b"".join([*marks, *(piece(text, score, 1) for text, score in scores.items())])
