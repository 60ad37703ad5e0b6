"""A trained vector for every bucket of hashed subwords."""

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional

from polyglance.text.embedders.encoded import Unseen
from polyglance.text.embedders.layer import WordLayer


class HashedTable(WordLayer):
    """A row for every bucket, and one for the mask if words are masked.

    Gradients are sparse, because an update reads few rows. With several processes they are dense,
    as DistributedDataParallel supports sparse ones only for torch's own embeddings; `lazy` tells
    the optimizer to skip rows without a gradient.
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
        """Sums of vectors divided by the square root of their number, [B, dim].

        Args:
            buckets: [total], of all texts, one after the other.
            counts: [B], buckets of each text.
            weights: [total], 0 for those that are dropped, otherwise 1.
        """
        starts = torch.cumsum(counts, 0) - counts
        # A row that is read ten times gets one gradient row. `embedding_bag` on the table itself
        # would create ten, and adding them costs more than finding the distinct rows.
        distinct, index = torch.unique(buckets, return_inverse=True)
        sums = functional.embedding_bag(
            index, self(distinct), starts, mode="sum", per_sample_weights=weights
        )
        return sums / counts.clamp(min=1).sqrt().unsqueeze(1)
