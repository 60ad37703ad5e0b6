"""Reads SentencePiece's unigram vocabularies without the package (Kudo 2018, §3.2)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from polyglance.errors import PolyglanceError

NORMAL, USER = 1, 4
"""Types of pieces that occur in texts; the others are control symbols."""

Message = Iterator[tuple[int, bytes | int]]


@dataclass(frozen=True)
class Model:
    """Pieces [n] by id, empty for control symbols; their scores; the character map.

    `units` is a double array (darts-clone, little-endian uint32) of byte sequences, whose values
    are offsets in `replacements`, which are zero-terminated.
    """

    pieces: list[bytes]
    scores: list[float]
    units: bytes
    replacements: bytes


def read_model(data: bytes, where: str) -> Model:
    """Parse a file such as sp.model; `where` is the file, for errors."""
    try:
        return _read(data)
    except (IndexError, ValueError, struct.error):
        raise PolyglanceError(f"{where}: not a SentencePiece vocabulary, or damaged") from None


def _read(data: bytes) -> Model:
    pieces, scores = [], []
    units, replacements = b"", b""
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            text, score = _piece(value)
            pieces.append(text)
            scores.append(score)
        elif number == 3 and isinstance(value, bytes):
            map_of = dict(_fields(value)).get(2)
            if isinstance(map_of, bytes) and map_of:
                size = struct.unpack("<I", map_of[:4])[0]
                units, replacements = map_of[4 : 4 + size], map_of[4 + size :]
    if not any(pieces) or len(units) % 4:
        raise ValueError("no pieces")
    return Model(pieces, scores, units, replacements)


def _piece(value: bytes) -> tuple[bytes, float]:
    fields = dict(_fields(value))
    text, score = fields.get(1, b""), fields.get(2, b"\0\0\0\0")
    if not isinstance(text, bytes) or not isinstance(score, bytes):
        raise ValueError("not a piece")
    text.decode("utf-8")
    return text if fields.get(3, NORMAL) in (NORMAL, USER) else b"", struct.unpack("<f", score)[0]


def _fields(data: bytes) -> Message:
    """Field numbers and values of a protocol buffer message."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            size, place = _varint(data, place)
        if size is None or place + size > len(data):
            raise ValueError("not a message")
        yield tag >> 3, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
