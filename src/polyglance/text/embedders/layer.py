"""Layers from ids of words to vectors."""

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.text.embedders.encoded import FIRST_ADDED, FIRST_UNSEEN, PAD, TextBatch, Unseen


def module_name(language: str) -> str:
    """What a language's part is called in a ModuleDict.

    A bare tag may be the name of one of its methods, such as Tongan's "to".
    """
    return f"language_{language}"


class WordLayer(nn.Module):
    """Ids → vectors of dimension `dim`, a distinct word once."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Vectors of words, [U, dim].

        Args:
            ids: [U], distinct and ascending.
            counts: [U], how often each occurs in the batch.
            unseen: words of this call that were never trained on.
        """
        raise TypeError("a word layer defines forward()")

    def known_ids(self) -> Tensor:
        """All ids [n] whose vectors depend on nothing but the id, ascending; to store them."""
        raise PolyglanceError(f"the vectors of {type(self).__name__} cannot be stored")

    def unseen_words(self) -> "UnseenWords | None":
        """What makes vectors of words that have no id; None where there are no such words."""
        return None

    def look_up(self, batch: TextBatch, added: "AddedRows | None") -> tuple[Tensor, Tensor]:
        """Vectors [U, dim], and which of them stands where [B, T]."""
        distinct, index, counts = torch.unique(batch.ids, return_inverse=True, return_counts=True)
        if added is not None:
            return added.look_up(self, distinct, counts, batch.unseen), index
        return self(distinct, counts, batch.unseen), index

    def pad_averages(self, averages: Tensor, counts: Tensor, languages: Tensor) -> Tensor:
        """Averages [B, dim] of the words of texts, as the layer pads.

        Args:
            averages: [B, dim], without padding.
            counts: [B], words of each text.
            languages: [B], the number of each text's language.
        """
        return averages

    def own_tables(self) -> list[Tensor]:
        """Tables [n, D] of words' own vectors that training may hold to their start."""
        return []

    def freeze(self, frozen: bool) -> None:
        """Whether words' own vectors get no gradient; layers without any do nothing."""

    @property
    def fixed(self) -> int:
        """Numbers that training never changes and that the model has to store."""
        return 0


class UnseenWords(nn.Module):
    """Words that only a call has: the columns of its `Unseen` → vectors [n, dim]."""

    def example(self, count: int) -> dict[str, Tensor]:
        """Columns of `count` words, by name in the order that `forward` takes them."""
        raise TypeError("a layer of unseen words defines example()")


def split_unseen(ids: Tensor, unseen: Unseen | None) -> tuple[Tensor, Tensor | None]:
    """Ids [U] with 0 in the place of unseen ones, and which are unseen [U]; None: none are."""
    if unseen is None:
        return ids, None
    new = ids >= FIRST_UNSEEN
    if not bool(new.any()):
        return ids, None
    return ids.masked_fill(new, 0), new


class AddedRows(nn.Module):
    """Vectors of added words beside a tower's own layer, a table for each language."""

    def __init__(self, ranges: dict[str, tuple[int, int]], dim: int) -> None:
        """`ranges` are the first id and the number of ids of each language."""
        super().__init__()
        self.ranges = {module_name(code): place for code, place in ranges.items()}
        self.tables = nn.ParameterDict(
            {name: torch.zeros(count, dim) for name, (_, count) in self.ranges.items()}
        )

    def known_ids(self) -> Tensor:
        """The ids of all added words [n], in the order of the tables."""
        return torch.cat([torch.arange(first, first + n) for first, n in self.ranges.values()])

    def vectors(self) -> Tensor:
        """Those of `known_ids`, [n, dim]."""
        return torch.cat(list(self.tables.values()))

    def look_up(
        self, words: WordLayer, ids: Tensor, counts: Tensor, unseen: Unseen | None
    ) -> Tensor:
        """Vectors of words, of a layer or of these tables, [U, dim].

        Where no added word is among them, the layer is asked as if there were none at all.

        Args:
            words: the layer of the words that were there before.
            ids: [U], distinct and ascending.
            counts: [U], how often each occurs in the batch.
            unseen: words of this call that were never trained on.
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
