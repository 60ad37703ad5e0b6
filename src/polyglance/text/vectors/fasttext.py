"""fastText's binary models: a vector for any word, from the word and its character n-grams.

The format (version 12, little endian): magic, version; twelve int32 and a double of settings;
the dictionary (counts, then per word its bytes, a zero, int64 count, int8 type); a byte that
says whether the input matrix is quantised; the matrix (int64 rows, int64 columns, float32), with
one row per word, then one row per bucket of hashed n-grams; the output matrix, which is ignored.
"""

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.core.progress import Bar, shows_bar
from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.storage.files import has_file
from polyglance.text.vectors.word_vectors import SHOW_PROGRESS_FROM, STRIDE

MAGIC, VERSIONS = 793712314, (11, 12)
END_OF_SENTENCE = "</s>"
_SETTINGS = struct.Struct("<12i d")
_COUNTS = struct.Struct("<3i 2q")
_SUPERVISED = 3
_CHUNK = 4096
_PRIME, _BASIS = np.uint32(16777619), np.uint32(2166136261)


def subword_hashes(words: Sequence[str], shortest: int, longest: int) -> Ragged:
    """FNV-1a hashes (uint32) of the n-grams of `<word>`.

    As in fastText, bytes are signed, `<` and `>` alone are not n-grams, and n-grams are ordered by
    first character, then length.

    Args:
        words: without `<` and `>`.
        shortest: minimum length of n-grams, in characters.
        longest: maximum length of n-grams, in characters.

    >>> hashes = subword_hashes(["ab"], 3, 3)  # <ab, ab>
    >>> hashes[0].tolist()
    [1218209508, 1699241756]
    """
    coded = [f"<{word}>".encode() for word in words]
    data = np.frombuffer(b"".join(coded), np.int8)
    ends = np.cumsum([len(one) for one in coded], dtype=np.int64)
    starts = np.flatnonzero((data.view(np.uint8) & 0xC0) != 0x80)  # of characters
    stops = np.append(starts[1:], len(data))
    word_of = np.searchsorted(ends, starts, side="right")
    first = np.diff(word_of, prepend=-1) > 0
    last = np.diff(word_of, append=len(words)) > 0
    hashes = np.empty((len(starts), max(longest - shortest + 1, 0)), np.uint32)
    kept = np.zeros(hashes.shape, bool)
    state = np.full(len(starts), _BASIS)
    inside = np.ones(len(starts), bool)
    for length in range(1, longest + 1):
        place = np.minimum(np.arange(len(starts)) + length - 1, len(starts) - 1)
        inside &= (np.arange(len(starts)) + length - 1 < len(starts)) & (word_of[place] == word_of)
        state = _absorb(state, data, starts[place], stops[place])
        if length >= shortest:
            hashes[:, length - shortest] = state
            kept[:, length - shortest] = inside & ~((length == 1) & (first | last))
    counts = np.bincount(word_of, kept.sum(axis=1), minlength=len(words)).astype(np.int64)
    return Ragged.from_lengths(hashes[kept], counts)


def _absorb(
    state: np.ndarray, data: np.ndarray, starts: np.ndarray, stops: np.ndarray
) -> np.ndarray:
    """Update the hashes with one more character each, of up to four bytes."""
    for offset in range(int((stops - starts).max(initial=0))):
        inside = starts + offset < stops
        byte = data[np.minimum(starts + offset, len(data) - 1)].astype(np.int32).view(np.uint32)
        state = np.where(inside, (state ^ byte) * _PRIME, state)
    return state


class SubwordVectors:
    """A fastText model with its matrix [words + buckets, d], memory-mapped or in memory.

    Args:
        words: as bytes, since some files have words that are not UTF-8.
        matrix: [words + buckets, d].
        buckets: rows of hashed n-grams; 0 for whole words only.
        shortest: letters of the shortest n-grams.
        longest: letters of the longest n-grams.
    """

    def __init__(
        self,
        words: Sequence[bytes],
        matrix: np.ndarray,
        buckets: int,
        shortest: int,
        longest: int,
    ) -> None:
        self.matrix, self.buckets, self.count = matrix, buckets, len(words)
        self.shortest, self.longest = (shortest, longest) if buckets else (1, 0)
        self._ids = {word: row for row, word in enumerate(words)}

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.matrix.shape[1]

    @property
    def words(self) -> list[str]:
        """Words in file order, except those that are not UTF-8."""
        return [word for word in map(_decode, self._ids) if word is not None]

    def rows(self, words: Sequence[str]) -> Ragged:
        """Rows of the matrix for each word: its own, if it has one, then those of its n-grams."""
        known = np.array([self._ids.get(word.encode(), -1) for word in words], np.int64)
        spelt = ["" if word == END_OF_SENTENCE else word for word in words]
        hashes = subword_hashes(spelt, self.shortest, self.longest)
        counts = hashes.lengths
        counts[[word == END_OF_SENTENCE for word in words]] = 0
        owner = np.repeat(np.arange(len(words)), hashes.lengths)
        kept = counts[owner] > 0
        grams = self.count + hashes.flat.astype(np.int64) % max(self.buckets, 1)
        seen = np.flatnonzero(known >= 0)
        order = np.argsort(np.concatenate([seen, owner[kept]]), kind="stable")
        flat = np.concatenate([known[seen], grams[kept]])[order]
        return Ragged.from_lengths(flat, counts + (known >= 0))

    def vectors(self, words: Sequence[str], show_progress: bool | None = None) -> np.ndarray:
        """Vectors [n, d] float32: the mean of each word's rows, as in fastText.

        An unknown word that is too short for n-grams is 0.
        """
        out = np.zeros((len(words), self.dim), np.float32)
        show = shows_bar(show_progress, len(words), SHOW_PROGRESS_FROM)
        with Bar("composing vectors", len(words), "words", show) as bar:
            for start in range(0, len(words), _CHUNK):
                chunk = words[start : start + _CHUNK]
                out[start : start + len(chunk)] = self._compose(self.rows(chunk))
                bar.advance(len(chunk))
        return out

    def _compose(self, rows: Ragged) -> np.ndarray:
        """Means, adding rows one by one to reproduce fastText's rounding."""
        lengths = rows.lengths
        sums = np.zeros((len(lengths), self.dim), np.float32)
        for place in range(int(lengths.max(initial=0))):
            words = np.flatnonzero(lengths > place)
            sums[words] += self.matrix[rows.flat[rows.offsets[words] + place]]
        return sums * (1.0 / np.maximum(lengths, 1)).astype(np.float32)[:, None]

    @classmethod
    def open(cls, path: Path, show_progress: bool | None = None) -> "SubwordVectors":
        """Map a `.bin` file; a supervised or quantised model is an error."""
        if not has_file(path):
            raise PolyglanceError(f"{path}: no such file")
        if path.stat().st_size == 0:
            raise PolyglanceError(f"{path}: the file is empty")
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as m:
            try:
                return cls._parse(path, m, show_progress)
            except struct.error:
                raise _damaged(path) from None

    @classmethod
    def _parse(cls, path: Path, data: mmap.mmap, show: bool | None) -> "SubwordVectors":
        magic, version = struct.unpack_from("<2i", data, 0)
        if magic != MAGIC or version not in VERSIONS:
            raise PolyglanceError(
                f"{path}: not a model of fastText 0.1.0 or later; use its .vec file instead"
            )
        settings = _SETTINGS.unpack_from(data, 8)
        dim, model, buckets, shortest, longest = (settings[i] for i in (0, 7, 8, 9, 10))
        if model == _SUPERVISED:
            raise PolyglanceError(
                f"{path}: a supervised model (a classifier); use a 'skipgram' or 'cbow' model"
            )
        place = 8 + _SETTINGS.size
        size, _, _, _, pruned = _COUNTS.unpack_from(data, place)
        words, place = _dictionary(path, data, place + _COUNTS.size, size, show)
        (quantised,) = struct.unpack_from("<b", data, place)
        if quantised or pruned >= 0:
            raise PolyglanceError(f"{path}: a quantised model; use the original one")
        rows, columns = struct.unpack_from("<2q", data, place + 1)
        place += 17
        fits = 0 < columns == dim and rows == size + buckets and min(size, buckets) >= 0
        if not fits or place + 4 * rows * columns > len(data) or longest > 1000:
            raise _damaged(path)
        matrix = np.memmap(path, "<f4", "r", place, (rows, columns))
        return cls(words, matrix, buckets, max(shortest, 1), longest)


def _dictionary(
    path: Path, data: mmap.mmap, place: int, size: int, show: bool | None
) -> tuple[list[bytes], int]:
    """Words, and the offset of the dictionary's end."""
    if not 0 < size <= len(data) // 10:
        raise _damaged(path)
    words = []
    show = shows_bar(show, size, SHOW_PROGRESS_FROM)
    with Bar(f"reading {path.name}", size, "words", show) as bar:
        for number in range(1, size + 1):
            end = data.find(b"\0", place)
            if end < 0:
                raise _damaged(path)
            words.append(data[place:end])
            place = end + 10
            if number % STRIDE == 0:
                bar.advance(STRIDE)
    return words, place


def _damaged(path: Path) -> PolyglanceError:
    return PolyglanceError(f"{path}: the file is damaged or incomplete; get it again")


def _decode(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None
