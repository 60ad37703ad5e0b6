"""Text files of word vectors, one word per line, with fastText's header or without (GloVe)."""

import gzip
import zlib
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from polyglance.core.progress import Bar, shows_bar
from polyglance.errors import PolyglanceError
from polyglance.storage.files import bounded, has_file
from polyglance.text.vectors.word_vectors import SHOW_PROGRESS_FROM, STRIDE, WordVectors

_BOM = b"\xef\xbb\xbf"


def read_text_vectors(
    path: Path,
    limit: int | None,
    only: Collection[str] | None,
    lenient: bool,
    show_progress: bool | None,
) -> WordVectors:
    """Vectors of the words of a text file; see `polyglance.text.vectors.read_vectors`.

    Args:
        path: the file, optionally gzipped.
        limit: read only this many words.
        only: keep only these words.
        lenient: whether to skip invalid lines.
        show_progress: whether to show a progress bar.
    """
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise PolyglanceError(f"{path}: the file is empty")
    header = _header(first[1])
    if header is None:
        lines, stated = chain([first], lines), None
        dim = len(first[1].split(b" ")) - 1
    else:
        stated, dim = header
    if dim < 1:
        raise PolyglanceError(f"{path}, line {first[0]}: expected a word and its vector")
    reader = _Reader(path, dim, only, lenient)
    estimate = stated or path.stat().st_size // max(len(first[1]), 1)
    total = min(limit or estimate, estimate)
    show = shows_bar(show_progress, total, SHOW_PROGRESS_FROM)
    seen = 0
    with Bar(f"reading {path.name}", total, "words", show) as bar:
        for number, line in lines:
            reader.add(number, line)
            seen += 1
            if seen % STRIDE == 0:
                bar.advance(STRIDE)
            if seen == limit:
                break
    if stated is not None and seen != min(stated, limit or stated):
        raise PolyglanceError(
            f"{path}: the first line states {stated} words, but there are {seen}; "
            "the file is incomplete, download it again"
        )
    return reader.finish()


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of non-blank lines. Only a newline ends a line, since words may contain
    other characters that Python treats as line breaks or spaces."""
    if not has_file(path):
        raise PolyglanceError(f"{path}: no such file")
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
            for number, line in enumerate(bounded(handle.readline, path), 1):
                line = line.removeprefix(_BOM) if number == 1 else line
                if line := line.rstrip(b" \r\n\t"):
                    yield number, line
    except (EOFError, OSError, zlib.error) as error:
        raise PolyglanceError(
            f"{path}, after line {number}: the file is damaged ({error}); get it again"
        ) from None


def _header(line: bytes) -> tuple[int, int] | None:
    """(words, dimension) of fastText's first line."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 12 for part in parts):
        return None
    return int(parts[0]), int(parts[1])


class _Reader:
    """Collects rows in one growing array, to avoid a second copy in memory."""

    def __init__(self, path: Path, dim: int, only: Collection[str] | None, lenient: bool) -> None:
        self.path, self.dim, self.lenient = path, dim, lenient
        self.only = None if only is None else set(only)
        self.line_of: dict[str, int] = {}
        self.skipped = 0
        self._matrix = np.empty((1024, dim), np.float32)

    def add(self, number: int, line: bytes) -> None:
        """Keep the vector of a line, if its word is wanted."""
        if self.only is not None and not self._wanted(line):
            return
        raw, numbers = self._parts(number, line)
        word = self._word(number, raw)
        if word is None or (self.only is not None and word not in self.only):
            return
        row = len(self.line_of)
        if row == len(self._matrix):
            self._matrix.resize((row + row // 2, self.dim), refcheck=False)
        self._matrix[row] = self._numbers(number, numbers)
        self.line_of[word] = number

    def finish(self) -> WordVectors:
        """The collected vectors."""
        if not self.line_of and self.only is None:
            raise PolyglanceError(f"{self.path}: the file contains no vectors")
        self._matrix.resize((len(self.line_of), self.dim), refcheck=False)
        return WordVectors(list(self.line_of), self._matrix, self.skipped)

    def _wanted(self, line: bytes) -> bool:
        # A word with spaces starts with one that may be wanted; `add` checks again.
        start = line[: line.find(b" ")].decode("utf-8", "replace")
        return self.only is not None and (
            start in self.only or line.count(b" ") != self.dim or "\ufffd" in start
        )

    def _parts(self, number: int, line: bytes) -> tuple[bytes, list[bytes]]:
        """A word and its values; GloVe's words may contain spaces, but not only numbers."""
        parts = line.split(b" ")
        found = len(parts) - 1
        if found > self.dim and not all(map(_is_number, parts[1 : -self.dim])):
            return b" ".join(parts[: -self.dim]), parts[-self.dim :]
        if found != self.dim:
            raise self._error(
                number,
                f"expected {self.dim} numbers, found {found}; correct or remove the line",
            )
        return parts[0], parts[1:]

    def _word(self, number: int, raw: bytes) -> str | None:
        try:
            word = raw.decode()
            wrong = "no word before the numbers"
        except UnicodeDecodeError:
            word, wrong = "", f"the word {raw!r} is not UTF-8"
        if word and word not in self.line_of:
            return word
        if self.lenient:
            self.skipped += 1
            return None
        if word:
            wrong = f"the word '{word}' is already on line {self.line_of[word]}"
        raise self._error(number, f"{wrong}; correct the file, or read it leniently")

    def _numbers(self, number: int, parts: list[bytes]) -> np.ndarray:
        try:
            row = np.array(parts, np.float32)
        except ValueError:
            bad = next((part for part in parts if not _is_number(part)), b"")
            text = bad.decode("utf-8", "replace")
            raise self._error(
                number, f"'{text}' is not a number; correct or remove the line"
            ) from None
        if not np.isfinite(row).all():
            bad = parts[int(np.flatnonzero(~np.isfinite(row))[0])]
            text = bad.decode("utf-8", "replace")
            raise self._error(
                number, f"'{text}' is not a finite number; correct or remove the line"
            )
        return row

    def _error(self, number: int, text: str) -> PolyglanceError:
        return PolyglanceError(f"{self.path}, line {number}: {text}")


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True
