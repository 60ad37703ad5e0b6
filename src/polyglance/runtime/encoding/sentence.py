"""The text side of an exported sentence encoder: rows of two tables, then a graph."""

from pathlib import Path

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.runtime.encoding.graph import Graph
from polyglance.runtime.encoding.tables import StoredTable
from polyglance.runtime.manifest import SentenceFiles
from polyglance.storage.tensors import map_tensors
from polyglance.text.embedders import Embedder, EncodedTexts, SubwordEmbedder
from polyglance.text.embedders.encoded import Unseen
from polyglance.text.embedders.subwords.pieces import UNKNOWN


class SentenceSide:
    """Ids of pieces and hashed subwords → embeddings.

    Args:
        folder: of the exported model.
        files: names of its files, and dimensions of its tables.
        embedder: splits texts into pieces.
    """

    def __init__(self, folder: Path, files: SentenceFiles, embedder: Embedder) -> None:
        path = folder / files.tables
        tensors = map_tensors(path)
        if not isinstance(embedder, SubwordEmbedder) or embedder.pieces is None:
            raise PolyglanceError(f"{folder}: its recipe has no pieces; export the model again")
        self.graph = Graph(folder / files.text)
        self.pieces = StoredTable(tensors, "pieces", files.piece_dim, str(path))
        self.words = None
        if files.word_dim:
            self.words = StoredTable(tensors, "words", files.word_dim, str(path))
        self.ids, self.first = embedder.pieces.ids, embedder.first
        buckets = 0 if self.words is None else len(self.words)
        if len(self.pieces) != len(self.ids) or buckets < embedder.settings.buckets:
            raise PolyglanceError(f"{path}: does not match its vocabulary; export again")

    def __call__(self, tokens: EncodedTexts, rows: np.ndarray, unseen: np.ndarray) -> np.ndarray:
        """Embeddings [B, D].

        Args:
            tokens: the texts of a call.
            rows: [B], which of them.
            unseen: ignored; every word has an id.
        """
        ids, lengths = tokens.ids.pad(rows)
        inside = np.arange(ids.shape[1]) < lengths[:, None]
        hashed = inside & (ids >= self.first)
        counts = hashed.sum(1)
        inputs = {"pieces": self._vectors(ids, inside & ~hashed), "lengths": lengths - counts}
        if self.words is not None:
            inputs["words"] = self._sums(ids[hashed] - self.first, counts)
        return self.graph(**inputs)

    def unseen_vectors(self, unseen: Unseen | None) -> np.ndarray:
        """Empty: every word has an id."""
        return np.zeros((0, 0), np.float32)

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of the piece table for ids [n]; ids of removed pieces get the unknown's row."""
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, places, UNKNOWN)

    def _vectors(self, ids: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Vectors [B, T, P] of pieces, which come first; T is their largest number in a text."""
        longest = int(inside.sum(1).max())
        found = np.zeros((len(ids), longest, self.pieces.dim), np.float32)
        found[inside[:, :longest]] = self.pieces(self.rows_of(ids[inside]))
        return found

    def _sums(self, buckets: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Sums [B, W] of vectors, divided by the square root of their number."""
        assert self.words is not None
        sums = np.zeros((len(counts), self.words.dim), np.float32)
        some = np.flatnonzero(counts)
        if len(some):
            starts = (np.cumsum(counts) - counts)[some]
            sums[some] = np.add.reduceat(self.words(buckets), starts)
        return sums / np.sqrt(np.maximum(counts, 1))[:, None].astype(np.float32)
