"""Encoders by name."""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor, nn

from polyglance.recipes.schema import CompatRecipe, TextRecipe
from polyglance.registry import Registry


class TextEncoder(Protocol):
    """How the word vectors of texts become states; a torch module."""

    part: str
    """What the tower calls it; part of the names of its weights."""

    def __call__(self, words: Tensor, index: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Word vectors [U, W], which stand at index [B, T] → states [B, T, D], lengths [B]."""
        ...


encoders: Registry[Callable[[TextRecipe, int, CompatRecipe], nn.Module]] = Registry("encoder")
"""By `text.encoder.kind`, made from the text's recipe, the words' dimension and compat."""
