"""Vectors of spelt words by id, kept while the weights stay the same."""

from threading import Lock

import torch
from torch import Tensor, nn

from polyglance.text.lexicon import Lexicon
from polyglance.text.embedders.characters.networks import WordEmbedder

CACHED_WORDS = 50_000
"""60 MB of 300-D vectors."""

_TABLES = Lock()
"""Of all tables: a lock in a module would keep it from being copied, and waits are short."""


class SpeltWords(nn.Module):
    """Stands where a word table would: ids of a lexicon → word vectors.

    In training every distinct word of the batch is embedded once. In evaluation without
    gradients a word is embedded the first time it is met; after that it is a row of a table. The
    table starts anew when weights, device or lexicon change, and when it has `limit` words.

    Fused optimisers change weights without a trace. So after a pass with gradients nothing is kept
    until the mode changes, and from then on every change of mode empties the table. Call `forget`
    after changing `tensor.data` by hand.

    Several threads may look words up at a time, as long as none of them trains.
    """

    def __init__(self, embedder: WordEmbedder, lexicon: Lexicon, limit: int = CACHED_WORDS) -> None:
        super().__init__()
        self.embedder, self.lexicon, self.limit = embedder, lexicon, limit
        self.size = embedder.size
        self._parts = tuple(embedder.modules())
        self._table: _Table | None = None
        self._moving = self._trained = False

    def forward(self, ids: Tensor, counts: Tensor | None = None) -> Tensor:
        """Distinct ids [U], which occur counts [U] times → [U, size]."""
        if torch.is_grad_enabled():
            self._moving = self._trained = True
        if self.training or self._moving:
            return self.embed(ids, counts)
        with _TABLES:
            return self._look_up(ids)

    def embed(self, ids: Tensor, counts: Tensor | None = None) -> Tensor:
        """The same without the table."""
        characters = torch.from_numpy(self.lexicon.characters(ids.cpu().numpy()))
        return self.embedder(characters.to(ids.device), counts)

    def forget(self) -> None:
        """Empty the table."""
        self._table, self._moving = None, False

    def train(self, mode: bool = True) -> "SpeltWords":
        """As every module's."""
        if mode != self.training and self._trained:
            self.forget()
        return super().train(mode)

    def _look_up(self, ids: Tensor) -> Tensor:
        state = self._state()
        if self._table is None or self._table.state != state:
            self._table = _Table(state)
        missing = ids[self._table.find(ids, len(self.lexicon)) < 0]
        if self._table.used + len(missing) > self.limit:
            if len(ids) > self.limit:
                return self.embed(ids)
            self._table.clear()
            missing = ids
        if len(missing):
            self._table.store(missing, self.embed(missing), self.limit)
        return self._table.vectors.index_select(0, self._table.find(ids, len(self.lexicon)))

    def _state(self) -> tuple:
        """Changes with the weights; several times as fast as going through `parameters()`."""
        parts = [(*m._parameters.values(), *m._buffers.values()) for m in self._parts]
        tensors = [tensor for part in parts for tensor in part if tensor is not None]
        versions = [(t.data_ptr(), 0 if t.is_inference() else t._version) for t in tensors]
        return (self.lexicon.version, tensors[0].dtype, *versions)


class _Table:
    """Vectors of words; `rows` [ids] has the row of each, -1 for none."""

    def __init__(self, state: tuple) -> None:
        self.state, self.used = state, 0
        self.rows = torch.empty(0, dtype=torch.int64)
        self.vectors = torch.empty(0, 0)

    def clear(self) -> None:
        """Start anew in the same memory."""
        self.rows.fill_(-1)
        self.used = 0

    def find(self, ids: Tensor, words: int) -> Tensor:
        """Rows of ids [U], all below `words`."""
        if len(self.rows) < words:
            # Not in inference mode, or it could not be written to outside of it.
            with torch.inference_mode(False):
                rows = torch.full((words + words // 2,), -1, device=ids.device)
            rows[: len(self.rows)] = self.rows
            self.rows = rows
        return self.rows[ids]

    def store(self, ids: Tensor, vectors: Tensor, limit: int) -> None:
        """Add the vectors [U, size] of ids [U]."""
        total = self.used + len(ids)
        if len(self.vectors) < total:
            size = min(max(1024, 2 * total), limit), vectors.shape[1]
            with torch.inference_mode(False):
                larger = torch.empty(size, dtype=vectors.dtype, device=vectors.device)
            if self.used:
                larger[: self.used] = self.vectors[: self.used]
            self.vectors = larger
        self.vectors[self.used : total] = vectors
        self.rows[ids] = torch.arange(self.used, total, device=ids.device)
        self.used = total
