"""Layers that map word ids to vectors."""

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.text.embedders.encoded import FIRST_ADDED, FIRST_UNSEEN, PAD, TextBatch, Unseen


def module_name(language: str) -> str:
    """Name of a language's part in a ModuleDict.

    A bare tag, such as Tongan's "to", may clash with a method's name.
    """
    return f"language_{language}"


class WordLayer(nn.Module):
    """Maps distinct ids to vectors of dimension `dim`."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Vectors of words, [U, dim].

        Args:
            ids: [U], distinct and ascending.
            counts: [U], occurrences of each in the batch.
            unseen: words of this call without an id.
        """
        raise TypeError("a word layer defines forward()")

    def known_ids(self) -> Tensor:
        """All ids [n], ascending, whose vectors depend only on the id and can be stored."""
        raise PolyglanceError(f"the vectors of {type(self).__name__} cannot be stored")

    def unseen_words(self) -> "UnseenWords | None":
        """The module for words without an id; None if there are no such words."""
        return None

    def look_up(self, batch: TextBatch, added: "AddedRows | None") -> tuple[Tensor, Tensor]:
        """Vectors [U, dim], and the index [B, T] into them."""
        distinct, index, counts = torch.unique(batch.ids, return_inverse=True, return_counts=True)
        if added is not None:
            return added.look_up(self, distinct, counts, batch.unseen), index
        return self(distinct, counts, batch.unseen), index

    def pad_averages(self, averages: Tensor, counts: Tensor, languages: Tensor) -> Tensor:
        """Averages [B, dim] of texts' words, including the layer's padding.

        Args:
            averages: [B, dim], without padding.
            counts: [B], words of each text.
            languages: [B], index of each text's language.
        """
        return averages

    def own_tables(self) -> list[Tensor]:
        """Tables [n, D] of word vectors that training may keep close to their initial values."""
        return []

    def freeze(self, frozen: bool) -> None:
        """Turn the gradient of word vectors off or on, if the layer has any."""

    @property
    def fixed(self) -> int:
        """Number of fixed values that the model stores."""
        return 0


class UnseenWords(nn.Module):
    """Words without an id: columns of `Unseen` → vectors [n, dim]."""

    def example(self, count: int) -> dict[str, Tensor]:
        """Columns of `count` words, by name, in the order of `forward`'s arguments."""
        raise TypeError("a layer of unseen words defines example()")


def split_unseen(ids: Tensor, unseen: Unseen | None) -> tuple[Tensor, Tensor | None]:
    """Ids [U] with unseen ones set to 0, and the mask [U] of these, or None."""
    if unseen is None:
        return ids, None
    new = ids >= FIRST_UNSEEN
    if not bool(new.any()):
        return ids, None
    return ids.masked_fill(new, 0), new


class AddedRows(nn.Module):
    """Vectors of added words, one table per language."""

    def __init__(self, ranges: dict[str, tuple[int, int]], dim: int) -> None:
        """`ranges` has the first id and the number of ids of each language."""
        super().__init__()
        self.ranges = {module_name(code): place for code, place in ranges.items()}
        self.tables = nn.ParameterDict(
            {name: torch.zeros(count, dim) for name, (_, count) in self.ranges.items()}
        )

    def known_ids(self) -> Tensor:
        """The ids of all added words [n], in the order of the tables."""
        return torch.cat([torch.arange(first, first + n) for first, n in self.ranges.values()])

    def vectors(self) -> Tensor:
        """The vectors of `known_ids`, [n, dim]."""
        return torch.cat(list(self.tables.values()))

    def look_up(
        self, words: WordLayer, ids: Tensor, counts: Tensor, unseen: Unseen | None
    ) -> Tensor:
        """Vectors of words, from the tower's layer or these tables, [U, dim].

        Args:
            words: the tower's layer, for words that were not added.
            ids: [U], distinct and ascending.
            counts: [U], occurrences of each in the batch.
            unseen: words of this call without an id.
        """
        if not bool((ids >= FIRST_ADDED).any()):
            return words(ids, counts, unseen)
        table = next(iter(self.tables.values()))
        vectors = table.new_zeros(len(ids), table.shape[1])
        old = (ids < FIRST_ADDED) & (ids != PAD)
        if bool(old.any()):
            vectors = vectors.index_put(
                (old,), words(ids[old], counts[old], unseen).to(vectors.dtype)
            )
        for name, (first, count) in self.ranges.items():
            mine = (ids >= first) & (ids < first + count)
            vectors = vectors.index_put((mine,), self.tables[name][ids[mine] - first])
        return vectors
