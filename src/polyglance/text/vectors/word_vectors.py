"""Word vectors in memory, and writing them."""

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from polyglance.core.progress import Bar, shows_bar
from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic

SHOW_PROGRESS_FROM = 20_000
"""Number of words from which reading or writing may take over two seconds."""
STRIDE = 1000
"""Words between two updates of the progress bar."""


@dataclass(frozen=True)
class WordVectors:
    """Words, in file order (most frequent first), and their vectors `matrix` [n, d] float32.

    >>> vectors = WordVectors(["dog", "cat"], np.eye(2, dtype=np.float32))
    >>> vectors.rows(["cat", "cow"]).tolist()
    [1, -1]
    """

    words: list[str]
    matrix: np.ndarray = field(repr=False)
    skipped: int = 0
    """Lines of the file that were skipped."""

    @cached_property
    def index(self) -> dict[str, int]:
        """word → row"""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.matrix.shape[1]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """Rows of words, [n] int64; -1 if there is no vector."""
        return np.array([self.index.get(word, -1) for word in words], np.int64)

    def first(self, count: int) -> "WordVectors":
        """The `count` most frequent words; the vectors are not copied."""
        return WordVectors(self.words[:count], self.matrix[:count])


def normalise_rows(matrix: np.ndarray) -> np.ndarray:
    """Scale rows to unit length; zero rows stay zero."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(norms > 0, norms, 1).astype(matrix.dtype)


def prepare_vectors(vectors: np.ndarray, mean: np.ndarray | None = None) -> np.ndarray:
    """Normalise raw vectors [n, d]; with a mean [d], subtract it and normalise again."""
    rows = normalise_rows(vectors)
    return rows if mean is None else normalise_rows(rows - mean)


def mean_row(matrix: np.ndarray) -> np.ndarray:
    """Mean of the rows [d], summed in float64."""
    return matrix.mean(axis=0, dtype=np.float64).astype(matrix.dtype)


def save_vectors(
    path: Path,
    words: Sequence[str],
    matrix: np.ndarray,
    digits: int = 6,
    show_progress: bool | None = None,
) -> None:
    """Write fastText's text format, atomically.

    Args:
        path: the file, gzipped if its name ends in `.gz`.
        words: the n words.
        matrix: [n, D], their vectors.
        digits: significant digits; nine are exact for float32.
        show_progress: whether to show a progress bar; by default for many words.
    """
    if len(words) != len(matrix):
        raise ValueError(f"{len(words)} words for {len(matrix)} vectors")
    row = " ".join([f"%.{digits}g"] * matrix.shape[1])
    show = shows_bar(show_progress, len(words), SHOW_PROGRESS_FROM)
    with atomic(path) as raw, Bar("writing vectors", len(words), "words", show) as bar:
        handle = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else raw
        handle.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for number, (word, vector) in enumerate(zip(words, matrix, strict=True), 1):
            if not word or "\n" in word or "\r" in word:
                raise PolyglanceError(f"{path}: the word {word!r} cannot be written on a line")
            handle.write(f"{word} {row % tuple(vector.tolist())}\n".encode())
            if number % STRIDE == 0:
                bar.advance(STRIDE)
        if handle is not raw:
            handle.close()
