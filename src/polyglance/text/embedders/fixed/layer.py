"""The layer over fixed word vectors: a linear translator for each language that has one."""

import torch
from torch import Tensor, nn

from polyglance.text.embedders.fixed.embedder import VectorReader


class TranslatedWords(nn.Module):
    """Ids of a `VectorReader` → vectors, those of a translated language through its translator.

    The vectors are not trained and saved by the reader; translators start at random (T1).
    """

    table: Tensor

    def __init__(self, reader: VectorReader) -> None:
        super().__init__()
        self.reader, self.size = reader, reader.dim
        self.register_buffer("table", torch.from_numpy(reader.matrix), persistent=False)
        translated = [code for code, part in reader.languages.items() if part.translated]
        # A bare code may be the name of a method of ModuleDict, such as Tongan's "to".
        self.translators = nn.ModuleDict(
            {f"language_{code}": nn.Linear(self.size, self.size) for code in translated}
        )

    def forward(self, ids: Tensor, counts: Tensor | None = None) -> Tensor:
        """Distinct ids [U] → [U, size]."""
        vectors = self._vectors(ids)
        if not self.translators:
            return vectors
        owners = self.reader.owners(ids.cpu().numpy())
        for position, code in enumerate(self.reader.languages):
            if f"language_{code}" in self.translators and (owners == position).any():
                mine = torch.from_numpy(owners == position).to(ids.device).unsqueeze(1)
                translated = self.translators[f"language_{code}"](vectors)
                vectors = torch.where(mine, translated, vectors)
        return vectors

    def _vectors(self, ids: Tensor) -> Tensor:
        new = ids >= len(self.table)
        if not bool(new.any()):
            return self.table[ids]
        vectors = self.table[ids.clamp(max=len(self.table) - 1)]
        unseen = torch.from_numpy(self.reader.unseen(ids[new].cpu().numpy()))
        return vectors.index_put((new,), unseen.to(vectors))

    def begin(self, code: str, matrix: Tensor, bias: bool = False) -> None:
        """Start a language's translator from `matrix` [d, d]; its bias at 0 unless `bias` (T2)."""
        translator = self.translators[f"language_{code}"]
        assert isinstance(translator, nn.Linear)
        with torch.no_grad():
            translator.weight.copy_(matrix)
            if not bias:
                translator.bias.zero_()
