"""Texts as ids, and words without an id."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyglance.numerics.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor

PAD = 0
"""The padding id; ignored past a text's length."""
FIRST_ADDED = 1 << 30
"""First id of added words; larger than any vocabulary."""
FIRST_UNSEEN = 1 << 29
"""First id of unseen words; larger than any vocabulary."""


@dataclass(frozen=True)
class Unseen:
    """Words of one call without an id; word i gets the id FIRST_UNSEEN + i.

    They are passed along with the call, so that encoding changes no state. `columns` are the inputs
    of the embedder's layer instead of an id, such as characters [n, L] or vectors [n, D].
    """

    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class EncodedTexts(NamedTuple):
    """Ids of texts.

    `continues` [total] marks ids that continue the previous word, if there are subwords; `unseen`
    are words of this call without an id.
    """

    ids: Ragged
    continues: np.ndarray | None = None
    unseen: Unseen | None = None


class TextBatch(NamedTuple):
    """Ids [B, T] of texts with lengths [B] ≥ 1, and words of this call without an id."""

    ids: "Tensor"
    lengths: "Tensor"
    unseen: Unseen | None = None
