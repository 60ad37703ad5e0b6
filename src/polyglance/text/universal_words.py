"""Words of every language in one space: own vectors and a language's layer, or latent tokens."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import Recipe, TupleSampling, UniversalEmbedderRecipe
from polyglance.text.closed import ClosedVocabularies, Layout


class UniversalWords(nn.Module):
    """Tokens → the universal space (spec §5.2, §5.3).

    A language's own tokens have rows of a table, which its linear layer projects; latent tokens
    are rows of one table that all languages share; the mask, if there is one, is a vector. With
    `only`, the tokens are those of one language.
    """

    edges: Tensor

    def __init__(
        self, layout: Layout, dim: int, size: int, mask: bool = False, only: str | None = None
    ) -> None:
        super().__init__()
        self.size = size
        self.ranges = {
            code: (start, end)
            for code, (start, end) in layout.own_ranges.items()
            if end > start and only in (None, code)
        }
        # A bare code may be the name of a method of ModuleDict, such as Tongan's "to".
        self.tables = nn.ModuleDict(
            {f"language_{code}": nn.Embedding(b - a, dim) for code, (a, b) in self.ranges.items()}
        )
        self.projections = nn.ModuleDict(
            {f"language_{code}": nn.Linear(dim, size) for code in self.ranges}
        )
        self.latent = nn.Parameter(torch.empty(layout.latent, size)) if layout.latent else None
        self.mask = nn.Parameter(torch.empty(size)) if mask else None
        self.padding: nn.Parameter | None = None
        self.frozen = False
        """Whether words' own vectors and latent ones get no gradient."""
        first = min((start for start, _ in self.ranges.values()), default=1 + layout.latent)
        edges = [0, 1, first, *(end for _, end in self.ranges.values()), layout.total]
        self.register_buffer("edges", torch.tensor(edges), persistent=False)
        for weight in (self.latent, self.mask):
            if weight is not None:
                nn.init.uniform_(weight, -0.1, 0.1)

    def begin(self, own: Mapping[str, np.ndarray], latent: np.ndarray | None) -> None:
        """Start from these vectors: own [n, dim] by language, latent [m, size]."""
        with torch.no_grad():
            for code, table in zip(self.ranges, self.own_tables(), strict=True):
                table.copy_(torch.from_numpy(own[code]))
            if self.latent is not None and latent is not None:
                self.latent.copy_(torch.from_numpy(latent))

    def own_tables(self) -> list[Tensor]:
        """Vectors of their own, [n, dim] of each language that has any."""
        return [table.weight for table in self.tables.values() if isinstance(table, nn.Embedding)]

    def add_padding(self) -> None:
        """A trained row for padding in every language, which the authors' averages count."""
        tables = self.own_tables()
        self.padding = nn.Parameter(torch.zeros(len(tables), tables[0].shape[1]))

    def padding_vectors(self) -> Tensor:
        """Padding in the universal space, [languages, size]."""
        assert self.padding is not None
        rows = zip(self.projections.values(), self.padding, strict=True)
        return torch.stack([projection(row) for projection, row in rows])

    def forward(self, ids: Tensor, counts: Tensor | None = None) -> Tensor:
        """Distinct ids [U], ascending → [U, size]."""
        cuts = torch.searchsorted(ids, self.edges).tolist()
        parts = [torch.zeros(cuts[1], self.size, device=ids.device)]
        if self.latent is not None:
            parts.append(self._held(self.latent[ids[cuts[1] : cuts[2]] - 1]))
        for index, (code, (start, _)) in enumerate(self.ranges.items(), 2):
            name, rows = f"language_{code}", ids[cuts[index] : cuts[index + 1]] - start
            if len(rows):
                parts.append(self.projections[name](self._held(self.tables[name](rows))))
        if self.mask is not None and cuts[-1] < len(ids):
            parts.append(self.mask.unsqueeze(0))
        return torch.cat(parts)

    def _held(self, vectors: Tensor) -> Tensor:
        return vectors.detach() if self.frozen else vectors


class StoredWords(nn.Module):
    """The universal vectors themselves: `tokens` from number `first` on, and `NOTHING`."""

    table: Tensor

    def __init__(self, first: int, tokens: int, size: int) -> None:
        super().__init__()
        self.first, self.size = first, size
        self.register_buffer("table", torch.zeros(1 + tokens, size))

    def forward(self, ids: Tensor, counts: Tensor | None = None) -> Tensor:
        """Distinct ids [U] → [U, size]."""
        return self.table[(ids - self.first + 1).clamp(min=0)]


def build_universal_words(
    recipe: Recipe, reader: ClosedVocabularies, only: str | None = None
) -> UniversalWords | StoredWords:
    """The layer of a recipe, over all tokens or over the own ones of a language."""
    embedder, sampling = recipe.text.embedder, recipe.sampling
    assert isinstance(embedder, UniversalEmbedderRecipe)
    layout, size = reader.layout, embedder.word_dim
    if embedder.stored:
        start, end = layout.own_ranges[only] if only else (1, layout.total)
        return StoredWords(start, end - start, size)
    if only and (layout.latent or not layout.own[only]):
        raise PolyglanceError(
            "text.towers=per-language shares no words: text.embedder.rare.kind must be drop, and "
            f"'{only}' needs words of its own"
        )
    masks = isinstance(sampling, TupleSampling) and sampling.masking_weight > 0
    mask = recipe.augment.word_drop > 0 or masks
    words = UniversalWords(layout, embedder.own_dim, size, mask, only)
    if reader.start is not None:
        words.begin(reader.start.own, reader.start.latent)
    if recipe.compat.padded_average:
        if not all(layout.own.values()):
            raise PolyglanceError(
                "compat.padded_average needs words of their own in every language: "
                "set text.embedder.frequent above 0"
            )
        words.add_padding()
    return words
