"""Words of all languages in one space: own vectors with a layer per language, or latent tokens."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.numerics.products import Linear
from polyglance.text.embedders.encoded import Unseen
from polyglance.text.embedders.layer import WordLayer, module_name
from polyglance.text.embedders.universal.layout import Layout


class UniversalWords(WordLayer):
    """Tokens → the universal space (Kim et al. 2020, §3.1; Burns et al. 2020, §3.1).

    A language's own tokens are rows of its table, projected by its linear layer; latent tokens are
    rows of a table that all languages share; the mask, if any, is a vector. With `only`, there are
    only the tokens of one language.

    Args:
        layout: the numbering of the tokens.
        own_dim: dimension of a language's own tokens.
        dim: W, of the universal space.
        mask: whether there is a mask token, after all others.
        only: the language whose tokens to have; "" for all.
    """

    edges: Tensor

    def __init__(
        self, layout: Layout, own_dim: int, dim: int, mask: bool = False, only: str = ""
    ) -> None:
        super().__init__(dim)
        self.ranges = {
            code: (start, end)
            for code, (start, end) in layout.own_ranges.items()
            if end > start and only in ("", code)
        }
        self.tables = nn.ModuleDict(
            {
                module_name(code): nn.Embedding(end - start, own_dim)
                for code, (start, end) in self.ranges.items()
            }
        )
        self.projections = nn.ModuleDict(
            {module_name(code): Linear(own_dim, dim) for code in self.ranges}
        )
        self.latent = nn.Parameter(torch.empty(layout.latent, dim)) if layout.latent else None
        self.mask = nn.Parameter(torch.empty(dim)) if mask else None
        self.padding: nn.Parameter | None = None
        self.padded_length = 0
        self.frozen = False
        first = min((start for start, _ in self.ranges.values()), default=1 + layout.latent)
        edges = [0, 1, first, *(end for _, end in self.ranges.values()), layout.total]
        self.register_buffer("edges", torch.tensor(edges), persistent=False)
        for weight in (self.latent, self.mask):
            if weight is not None:
                nn.init.uniform_(weight, -0.1, 0.1)

    def initialise(self, own: Mapping[str, np.ndarray], latent: np.ndarray | None) -> None:
        """Initialise with these vectors: own [n, own_dim] by language, latent [m, dim]."""
        with torch.no_grad():
            for code, table in zip(self.ranges, self.own_tables(), strict=True):
                table.copy_(torch.from_numpy(own[code]))
            if self.latent is not None and latent is not None:
                self.latent.copy_(torch.from_numpy(latent))

    def own_tables(self) -> list[Tensor]:
        return [table.weight for table in self.tables.values() if isinstance(table, nn.Embedding)]

    def freeze(self, frozen: bool) -> None:
        self.frozen = frozen

    def add_padding(self, length: int) -> None:
        """Add a trained padding row per language, so that averages are over `length` words, as in
        the authors' code."""
        tables = self.own_tables()
        self.padding = nn.Parameter(torch.zeros(len(tables), tables[0].shape[1]))
        self.padded_length = length

    def pad_averages(self, averages: Tensor, counts: Tensor, languages: Tensor) -> Tensor:
        if self.padding is None:
            return averages
        rows = zip(self.projections.values(), self.padding, strict=True)
        padding = torch.stack([projection(row) for projection, row in rows])[languages]
        missing = (self.padded_length - counts) / counts.clamp(min=1)
        return averages + missing.unsqueeze(1) * padding

    def known_ids(self) -> Tensor:
        latent = 0 if self.latent is None else len(self.latent)
        own = [torch.arange(start, end) for start, end in self.ranges.values()]
        return torch.cat([torch.arange(1 + latent), *own])

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Distinct ids [U], ascending → [U, dim]."""
        cuts = torch.searchsorted(ids, self.edges).tolist()
        parts = [torch.zeros(cuts[1], self.dim, device=ids.device)]
        if self.latent is not None:
            parts.append(self._held(self.latent[ids[cuts[1] : cuts[2]] - 1]))
        for index, (code, (start, _)) in enumerate(self.ranges.items(), 2):
            name, rows = module_name(code), ids[cuts[index] : cuts[index + 1]] - start
            if len(rows):
                parts.append(self.projections[name](self._held(self.tables[name](rows))))
        if self.mask is not None and cuts[-1] < len(ids):
            parts.append(self.mask.unsqueeze(0))
        return torch.cat(parts)

    def _held(self, vectors: Tensor) -> Tensor:
        return vectors.detach() if self.frozen else vectors


class StoredWords(WordLayer):
    """Stored universal vectors of `tokens` tokens from `first` on, and of `NOTHING`.

    Args:
        first: first token.
        tokens: number of tokens.
        dim: of their vectors.
    """

    table: Tensor

    def __init__(self, first: int, tokens: int, dim: int) -> None:
        super().__init__(dim)
        self.first = first
        self.register_buffer("table", torch.zeros(1 + tokens, dim))

    @property
    def fixed(self) -> int:
        return self.table.numel()

    def known_ids(self) -> Tensor:
        own = torch.arange(self.first, self.first + len(self.table) - 1)
        return torch.cat([torch.zeros(1, dtype=torch.int64), own])

    def store(self, words: WordLayer) -> None:
        """Store the vectors of another layer."""
        ids = torch.arange(self.first, self.first + len(self.table) - 1)
        with torch.no_grad():
            self.table[1:] = words(ids)

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Distinct ids [U] → [U, dim]."""
        return self.table[(ids - self.first + 1).clamp(min=0)]
