"""Texts as ids, and the words that have none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyglance.numerics.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor

PAD = 0
"""The id that fills up texts; past a text's length it never counts."""
FIRST_ADDED = 1 << 30
"""Where ids of added words begin; no vocabulary grows this large."""
FIRST_UNSEEN = 1 << 29
"""Where the ids of words begin that an embedder has no id for; no vocabulary grows this large."""


@dataclass(frozen=True)
class Unseen:
    """Words of one call that have no id of their own: number i has the id FIRST_UNSEEN + i.

    They travel with the call, so that reading changes nothing. `columns` are what the embedder's
    layer takes in the place of an id, such as characters [n, L] or vectors [n, D].
    """

    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class EncodedTexts(NamedTuple):
    """Ids of texts.

    `continues` [total] says which ids go on with the word before, where words are read in pieces;
    `unseen` are the words that only this call has.
    """

    ids: Ragged
    continues: np.ndarray | None = None
    unseen: Unseen | None = None


class TextBatch(NamedTuple):
    """Ids [B, T] of texts with lengths [B] ≥ 1, and words that only this batch's call has."""

    ids: "Tensor"
    lengths: "Tensor"
    unseen: Unseen | None = None
