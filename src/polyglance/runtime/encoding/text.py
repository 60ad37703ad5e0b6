"""The text side of an exported model: from ids to embeddings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.runtime.encoding.graph import Graph
from polyglance.runtime.manifest import TowerFiles
from polyglance.text.embedders.cache import LRU
from polyglance.text.embedders.encoded import FIRST_ADDED, FIRST_UNSEEN, EncodedTexts, Unseen

T = TypeVar("T")
CACHED_WORDS = 50_000
"""Number of words without an id whose vectors are cached."""


class TextSide:
    """A text tower of an exported model."""

    def __init__(self, folder: Path, files: TowerFiles) -> None:
        self.files = files
        self.graph = Graph(folder / files.text)
        self.unseen = None if files.unseen is None else Graph(folder / files.unseen)
        self._vectors: LRU[np.ndarray] = LRU(CACHED_WORDS)
        order = np.argsort([first for first, _ in files.rows], kind="stable")
        firsts, counts = np.array(files.rows, np.int64).reshape(-1, 2).T
        self._first, self._count = firsts[order], counts[order]
        self._row = (np.cumsum(counts) - counts)[order]
        self.known = int(counts.sum())
        """Rows of the word table; those of words without an id follow."""

    def __call__(self, tokens: EncodedTexts, rows: np.ndarray, unseen: np.ndarray) -> np.ndarray:
        """Embeddings [B, D].

        Args:
            tokens: the texts of a call.
            rows: [B], which of them.
            unseen: [U, W], vectors of the call's words without an id.
        """
        ids, lengths = tokens.ids.pad(rows)
        return self.graph(words=self.rows_of(ids), lengths=lengths, unseen=unseen)

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of the word table [B, T] for ids [B, T]; ids without a row get the padding row."""
        place = np.maximum(np.searchsorted(self._first, ids, "right") - 1, 0)
        offset = ids - self._first[place]
        rows = np.where((offset >= 0) & (offset < self._count[place]), self._row[place] + offset, 0)
        new = (ids >= FIRST_UNSEEN) & (ids < FIRST_ADDED)
        return np.where(new, self.known + ids - FIRST_UNSEEN, rows)

    def unseen_vectors(self, unseen: Unseen | None) -> np.ndarray:
        """Vectors [U, W] of words without an id; one of zeros if there are none."""
        if unseen is None or self.unseen is None:
            return np.zeros((1, self.files.word_dim), np.float32)
        graph, columns = self.unseen, {name: unseen.columns[name] for name in self.files.columns}

        def compute(keys: list[bytes]) -> Sequence[np.ndarray]:
            places = np.array([where[key] for key in keys])
            return [row.copy() for row in graph(**{n: c[places] for n, c in columns.items()})]

        keys = [b"".join(c[i].tobytes() for c in columns.values()) for i in range(len(unseen))]
        where = {key: place for place, key in enumerate(keys)}
        return np.stack(self._vectors.get(keys, compute))


def tower_of(towers: Mapping[str, T], pivots: Mapping[str, str], language: str | None) -> T:
    """The tower for a language.

    Args:
        towers: by language; "" is for all languages.
        pivots: of an added language, the language whose tower encodes it.
        language: of the texts.
    """
    if "" in towers:
        return towers[""]
    name = pivots.get(str(language), language)
    if name is None or name not in towers:
        hint = nearest(str(name), list(towers)) if name else f" (one of: {', '.join(towers)})"
        raise PolyglanceError(f"this model has a text tower for each language: pass one{hint}")
    return towers[name]
