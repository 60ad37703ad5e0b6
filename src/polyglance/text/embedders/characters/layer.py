"""The character layer: word vectors by id, cached while the weights are unchanged."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from polyglance.text.embedders.cache import LRU
from polyglance.text.embedders.characters.networks import CharacterNetwork
from polyglance.text.embedders.encoded import FIRST_UNSEEN, Unseen
from polyglance.text.embedders.layer import UnseenWords, WordLayer, split_unseen
from polyglance.text.vectors.word_vectors import WordVectors

CACHED_WORDS = 50_000
"""60 MB for vectors of dimension 300."""


class CharacterLayer(WordLayer):
    """Ids of forms → vectors from their characters, concatenated with pretrained ones if any.

    In training, every distinct word of a batch is embedded once. Without gradients, words are
    cached; new weights or a change of mode clear the cache. As a fused optimizer does not update
    version counters, nothing is cached after a pass with gradients until the mode changes.

    Args:
        network: maps characters to vectors.
        forms: [n, L], characters of the forms with an id.
        vectors: pretrained ones; None without.
        rows: [n], row of each form in `vectors`, −1 for none; None without vectors.
    """

    forms: Tensor
    table: Tensor
    rows: Tensor

    def __init__(
        self,
        network: CharacterNetwork,
        forms: np.ndarray,
        vectors: WordVectors | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        super().__init__(network.dim + (0 if vectors is None else vectors.dim))
        self.embedder = network
        self.cache: LRU[Tensor] = LRU(CACHED_WORDS)
        self._weights: tuple[tuple[int, int], ...] = ()
        self._moving = False
        self.register_buffer("forms", torch.from_numpy(forms), persistent=False)
        self.pretrained = vectors is not None
        if vectors is not None and rows is not None:
            known = torch.from_numpy(vectors.matrix)
            # Row 0 is for words without a pretrained vector.
            self.register_buffer("table", torch.cat([known.new_zeros(1, vectors.dim), known]))
            self.register_buffer("rows", torch.from_numpy(rows + 1), persistent=False)

    @property
    def fixed(self) -> int:
        return self.table.numel() if self.pretrained else 0

    def known_ids(self) -> Tensor:
        return torch.arange(len(self.forms))

    def unseen_words(self) -> UnseenWords:
        return SpelledWords(self.embedder, self.table if self.pretrained else None)

    def train(self, mode: bool = True) -> "CharacterLayer":
        """Set the mode; clears the cache if it changes."""
        if mode != self.training:
            self.cache.clear()
            self._moving = False
        return super().train(mode)

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Distinct ids [U] with counts [U] → [U, dim]."""
        known, new = split_unseen(ids, unseen)
        characters = _filled(self.forms[known], new, ids, unseen, "characters")
        vectors = self._embed(characters, counts)
        if not self.pretrained:
            return vectors
        rows = _filled(self.rows[known], new, ids, unseen, "rows", 1)
        return torch.cat([vectors, self.table[rows]], 1)

    def _embed(self, characters: Tensor, counts: Tensor | None) -> Tensor:
        if torch.is_grad_enabled():
            self.cache.clear()
            self._moving = True
        if self.training or self._moving:
            return self.embedder(characters, counts)
        weights = tuple((p.data_ptr(), _version(p)) for p in self.embedder.state())
        if weights != self._weights:
            self.cache.clear()
            self._weights = weights

        def compute(keys: list[bytes]) -> Sequence[Tensor]:
            places = {key: row for row, key in enumerate(words)}
            chosen = torch.tensor([places[key] for key in keys], device=characters.device)
            # Copies, since a view would keep the whole batch in memory.
            return [vector.clone() for vector in self.embedder(characters[chosen])]

        words = [row.tobytes() for row in characters.cpu().numpy()]
        found = self.cache.get(words, compute)
        return torch.stack(found) if found else characters.new_zeros(0, self.embedder.dim).float()


class SpelledWords(UnseenWords):
    """Characters [n, L], and rows [n] of pretrained vectors (−1 for none), if any."""

    def __init__(self, network: CharacterNetwork, table: Tensor | None) -> None:
        super().__init__()
        self.network, self.table = network, table

    def example(self, count: int) -> dict[str, Tensor]:
        alphabet, longest = len(self.network.characters.weight), self.network.word_length
        lengths = 1 + torch.arange(count) % longest
        inside = torch.arange(longest) < lengths.unsqueeze(1)
        characters = torch.randint(1, alphabet, (count, longest), dtype=torch.int32) * inside
        found = {"characters": characters.to(torch.int32)}
        if self.table is not None:
            found["rows"] = torch.arange(count) % len(self.table) - 1
        return found

    def forward(self, characters: Tensor, rows: Tensor | None = None) -> Tensor:
        """[n, L], [n] → [n, dim]."""
        vectors = self.network(characters)
        if self.table is None or rows is None:
            return vectors
        return torch.cat([vectors, self.table[rows + 1]], 1)


def _filled(
    values: Tensor,
    new: Tensor | None,
    ids: Tensor,
    unseen: Unseen | None,
    column: str,
    shift: int = 0,
) -> Tensor:
    """Values [U, …] of known ids, with those of unseen words filled in."""
    if new is None or unseen is None:
        return values
    own = torch.from_numpy(unseen.columns[column]).to(values) + shift
    return values.index_put((new,), own[ids[new] - FIRST_UNSEEN])


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version
