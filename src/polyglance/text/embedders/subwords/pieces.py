"""Reading with a SentencePiece vocabulary of unigrams, without the package (Kudo 2018)."""

import re
import struct
from array import array
from collections.abc import Iterator
from functools import lru_cache

from polyglance.errors import PolyglanceError

UNKNOWN, START, END = 0, 1, 2
NORMAL, USER = 1, 4
"""Types of pieces that texts are cut into; the others are marks."""
SPACE = "▁"
UNKNOWN_PENALTY = 10.0
"""An unknown character costs so much more than the rarest piece, as in SentencePiece."""

Message = Iterator[tuple[int, bytes | int]]


class Pieces:
    """Texts → ids of pieces, `START` and `END` around them.

    A text is normalised by the map of characters in the file (NFKC and a little more), and each
    word cut into the pieces of the highest sum of log-probabilities. No piece goes beyond a word,
    so words are cut one by one, and kept.

    Args:
        data: the bytes of a file such as sp.model.
        where: the file, for errors.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self.data = data
        try:
            self._read(data)
        except (IndexError, ValueError, struct.error, UnicodeDecodeError):
            raise PolyglanceError(f"{where}: not a SentencePiece vocabulary, or damaged") from None
        self._cut_word = lru_cache(maxsize=200_000)(self._best_cut)
        self._clean = lru_cache(maxsize=200_000)(self._normalise)

    def __len__(self) -> int:
        return self.count

    def encode(self, text: str, longest: int) -> list[int]:
        """Ids of a text; longer ones are cut, `START` and `END` counted in."""
        chunks = (self._clean(chunk) for chunk in text.split(" "))
        words = (word for chunk in chunks for word in chunk.split(" ") if word)
        ids = [number for word in words for number in self._cut_word(SPACE + word)]
        return [START, *(ids or [UNKNOWN])[: longest - 2], END]

    def knows(self, word: str) -> bool:
        """Whether any piece of a word is known."""
        inner = self.encode(word, 1 << 20)[1:-1]
        return any(number not in (UNKNOWN, self.ids.get(SPACE)) for number in inner)

    def _read(self, data: bytes) -> None:
        self.ids: dict[str, int] = {}
        self.scores, self.count = array("d"), 0
        self._units, self._replacements = array("I"), b""
        for number, value in _fields(data):
            if number == 1 and isinstance(value, bytes):
                self._add_piece(value)
            elif number == 3 and isinstance(value, bytes):
                self._add_map(dict(_fields(value)).get(2, b""))
        if not self.ids:
            raise ValueError("no pieces")
        self._unknown = min(self.scores) - UNKNOWN_PENALTY
        self._longest: dict[str, int] = {}
        for piece in self.ids:
            self._longest[piece[0]] = max(len(piece), self._longest.get(piece[0], 0))

    def _add_piece(self, value: bytes) -> None:
        fields = dict(_fields(value))
        score = fields.get(2, b"\0\0\0\0")
        assert isinstance(score, bytes)
        self.scores.append(struct.unpack("<f", score)[0])
        text = fields.get(1, b"")
        if isinstance(text, bytes) and text and fields.get(3, NORMAL) in (NORMAL, USER):
            self.ids[text.decode("utf-8")] = self.count
        self.count += 1

    def _add_map(self, value: bytes | int) -> None:
        """A double array (darts-clone) of byte sequences, and what stands for them."""
        if isinstance(value, bytes) and value:
            size = struct.unpack("<I", value[:4])[0]
            self._units = array("I", struct.unpack(f"<{size // 4}I", value[4 : 4 + size]))
            self._replacements = value[4 + size :]

    def _best_cut(self, word: str) -> tuple[int, ...]:
        """Viterbi: the best way to every place, from the best ways to places before."""
        best = [0.0] + [float("-inf")] * len(word)
        before, piece = [0] * len(best), [UNKNOWN] * len(best)
        for start, first in enumerate(word):
            longest = min(self._longest.get(first, 1), len(word) - start)
            for end in range(start + 1, start + longest + 1):
                number = self.ids.get(word[start:end])
                if number is None and end > start + 1:
                    continue
                score = self._unknown if number is None else self.scores[number]
                if best[start] + score > best[end]:
                    best[end], before[end] = best[start] + score, start
                    piece[end] = UNKNOWN if number is None else number
        found, place = [], len(word)
        while place:
            found.append(piece[place])
            place = before[place]
        return tuple(reversed(found))

    def _normalise(self, text: str) -> str:
        """Every longest sequence of bytes that the map has, replaced."""
        data, place, parts = text.encode("utf-8", "replace"), 0, []
        while place < len(data):
            length, found = self._match(data, place)
            if not length:
                length = _width(data[place])
                found = data[place : place + length]
            parts.append(found)
            place += length
        return re.sub(" +", " ", b"".join(parts).decode("utf-8", "replace"))

    def _match(self, data: bytes, place: int) -> tuple[int, bytes]:
        """Length of the longest sequence at `place` that the map has, and its replacement."""
        if not self._units:
            return 0, b""
        node, length, value = _offset(self._units[0]), 0, 0
        for step in range(place, len(data)):
            node ^= data[step]
            unit = self._units[node]
            if unit & 0x800000FF != data[step]:
                break
            node ^= _offset(unit)
            if unit & 0x100:  # a sequence ends here
                length, value = step + 1 - place, self._units[node] & 0x7FFFFFFF
        if not length:
            return 0, b""
        return length, self._replacements[value : self._replacements.index(b"\0", value)]


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


def _width(byte: int) -> int:
    """Bytes of the character that begins with this one."""
    return 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)


def _fields(data: bytes) -> Message:
    """Numbers and values of the fields of a message of protocol buffers."""
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
