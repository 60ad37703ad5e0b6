"""The layer for fixed word vectors, with a linear translator per translated language."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.numerics.products import Linear
from polyglance.text.embedders.encoded import FIRST_UNSEEN, Unseen
from polyglance.text.embedders.layer import UnseenWords, WordLayer, module_name, split_unseen


class TranslatedWords(WordLayer):
    """Ids → vectors, mapped by the translator of a translated language (Liu et al. 2019, §2).

    The vectors are not trained, and saved by the embedder; translators start at random (T1).

    Args:
        matrix: [n, dim], word vectors.
        owners: [n], the language index of each; −1 for none.
        languages: in the order of these indices, and whether a language is translated.
    """

    table: Tensor
    owners: Tensor

    def __init__(self, matrix: np.ndarray, owners: np.ndarray, languages: Mapping[str, bool]):
        super().__init__(matrix.shape[1])
        self.register_buffer("table", torch.from_numpy(matrix), persistent=False)
        self.register_buffer("owners", torch.from_numpy(owners), persistent=False)
        self.numbers = {module_name(code): number for number, code in enumerate(languages)}
        translated = [code for code, one in languages.items() if one]
        self.translators = nn.ModuleDict(
            {module_name(code): Linear(self.dim, self.dim) for code in translated}
        )

    @property
    def fixed(self) -> int:
        return self.table.numel()

    def known_ids(self) -> Tensor:
        return torch.arange(len(self.table))

    def unseen_words(self) -> UnseenWords:
        return ComposedWords(self)

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Distinct ids [U] → [U, dim]."""
        known, new = split_unseen(ids, unseen)
        vectors, owners = self.table[known], self.owners[known]
        if new is not None and unseen is not None:
            places = ids[new] - FIRST_UNSEEN
            composed = torch.from_numpy(unseen.columns["vectors"]).to(vectors)
            vectors = vectors.index_put((new,), composed[places])
            numbers = torch.from_numpy(unseen.columns["owners"]).to(owners)
            owners = owners.index_put((new,), numbers[places])
        for name, translator in self.translators.items():
            mine = owners == self.numbers[name]
            if bool(mine.any()):
                vectors = torch.where(mine.unsqueeze(1), translator(vectors), vectors)
        return vectors

    def initialise(self, code: str, matrix: Tensor, bias: bool = False) -> None:
        """Initialise a language's translator with a matrix.

        Args:
            code: the language.
            matrix: [D, D], the initial weight.
            bias: whether the bias stays random (T2) instead of 0.
        """
        translator = self.translators[module_name(code)]
        assert isinstance(translator, nn.Linear)
        with torch.no_grad():
            translator.weight.copy_(matrix)
            if not bias:
                translator.bias.zero_()


class ComposedWords(UnseenWords):
    """Vectors from n-grams [n, dim] and language indices [n], translated if necessary."""

    def __init__(self, layer: TranslatedWords) -> None:
        super().__init__()
        self.dim, self.numbers, self.translators = layer.dim, layer.numbers, layer.translators

    def example(self, count: int) -> dict[str, Tensor]:
        owners = torch.arange(count) % max(len(self.numbers), 1)
        return {"vectors": torch.randn(count, self.dim), "owners": owners}

    def forward(self, vectors: Tensor, owners: Tensor) -> Tensor:
        """[n, dim], [n] → [n, dim]."""
        for name, translator in self.translators.items():
            mine = (owners == self.numbers[name]).unsqueeze(1)
            vectors = torch.where(mine, translator(vectors), vectors)
        return vectors
