"""The layer of a table of words."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.text.embedders.encoded import Unseen
from polyglance.text.embedders.layer import WordLayer
from polyglance.text.vectors.word_vectors import WordVectors


class WordTable(WordLayer):
    """A trained row for every id."""

    def __init__(self, words: int, dim: int) -> None:
        super().__init__(dim)
        self.weight = nn.Embedding(words, dim).weight
        nn.init.uniform_(self.weight, -0.1, 0.1)

    def initialise(self, vectors: WordVectors, words: Sequence[str]) -> None:
        """Initialise the rows of words, in order of their ids, that have a vector."""
        rows = vectors.rows(words)
        known = rows >= 0
        values = torch.from_numpy(vectors.matrix[rows[known]].astype(np.float32))
        with torch.no_grad():
            self.weight[: len(words)][torch.from_numpy(known)] = values

    def known_ids(self) -> Tensor:
        return torch.arange(len(self.weight))

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Distinct ids [U] → [U, dim]."""
        return functional.embedding(ids, self.weight)
