"""Encoders by name."""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.recipes.schema import CompatRecipe, TextRecipe


class TextEncoder(Protocol):
    """How the word vectors of texts become states; a torch module."""

    part: str
    """What the tower calls it; part of the names of its weights."""

    def __call__(self, words: Tensor, index: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, T, D] and their lengths [B].

        Args:
            words: [U, W], vectors of distinct words.
            index: [B, T], which of them stands where.
            lengths: [B], words of each text.
        """
        ...


encoders: Registry[Callable[[TextRecipe, int, CompatRecipe], nn.Module]] = Registry("encoder")
"""By `text.encoder.kind`, made from the text's recipe, the words' dimension and compat."""
