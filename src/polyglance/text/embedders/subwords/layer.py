"""A trained vector for every bucket of hashed subwords."""

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional

from polyglance.text.embedders.encoded import Unseen
from polyglance.text.embedders.layer import WordLayer


class HashedTable(WordLayer):
    """A row for every bucket, and one behind them where words are masked.

    Gradients are sparse: an update reads few of the rows. Those of several processes are dense,
    as DistributedDataParallel expects them of all but torch's own embeddings; the optimizer is
    told that rows without any are `lazy`.
    """

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__(dim)
        self.weight = nn.Parameter(torch.empty(rows, dim))
        nn.init.normal_(self.weight, 0, 0.01)
        self.weight.lazy = True  # type: ignore[attr-defined]

    def known_ids(self) -> Tensor:
        return torch.arange(len(self.weight))

    def forward(
        self, ids: Tensor, counts: Tensor | None = None, unseen: Unseen | None = None
    ) -> Tensor:
        """Distinct ids [U] → [U, dim]."""
        several = distributed.is_available() and distributed.is_initialized()
        return functional.embedding(ids, self.weight, sparse=not several)

    def sums(self, buckets: Tensor, counts: Tensor, weights: Tensor) -> Tensor:
        """Sums of vectors over the square root of how many they are, [B, dim].

        Args:
            buckets: [total], of all texts, one text behind the other.
            counts: [B], how many of them each text has.
            weights: [total], 0 for those that are left out, else 1.
        """
        starts = torch.cumsum(counts, 0) - counts
        # A row that is read ten times has one row of the gradient: the table's own sum of bags
        # would make ten, and adding them up costs more than finding the distinct ones.
        distinct, index = torch.unique(buckets, return_inverse=True)
        sums = functional.embedding_bag(
            index, self(distinct), starts, mode="sum", per_sample_weights=weights
        )
        return sums / counts.clamp(min=1).sqrt().unsqueeze(1)
