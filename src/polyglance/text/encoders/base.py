"""The interface and registry of encoders."""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.recipes.schema import CompatRecipe, TextRecipe


class TextEncoder(Protocol):
    """A torch module that maps the word vectors of texts to states."""

    part: str
    """Its attribute name in the tower, and so a part of its weights' names."""

    def __call__(self, words: Tensor, index: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, T, D] and their lengths [B].

        Args:
            words: [U, W], vectors of distinct words.
            index: [B, T], index into `words`.
            lengths: [B], words of each text.
        """
        ...


encoders: Registry[Callable[[TextRecipe, int, CompatRecipe], nn.Module]] = Registry("encoder")
"""By `text.encoder.kind`; called with the text recipe, the word dimension and compat."""
