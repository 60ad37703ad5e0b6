"""Word vectors from characters: LIWE and charGRU (Wehrmann et al. 2019, §3.1 and §4)."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from polyglance.numerics.products import Linear, linear
from polyglance.numerics.recurrent import PackedGRU
from polyglance.text.embedders.characters.alphabet import PAD
from polyglance.text.embedders.characters.weighted_norm import WeightedBatchNorm

SMALL, LARGE = 24, 120
"""Dimension of a character in S-LIWE (the authors' LIWE) and L-LIWE (SMALR)."""


class CharacterNetwork(nn.Module):
    """Characters [U, ≤ word_length] of distinct words → vectors [U, dim].

    Padding has no vector, and words of padding only are excluded from statistics. With
    `pad_statistics`, padding counts as a letter and such words are included, as in the authors'
    code.

    Args:
        alphabet: number of letters, with the specials.
        dim: dimension of a word's vector.
        char_dim: dimension of a letter's vector.
        word_length: letters of a word.
        pad_statistics: whether padding counts as a letter.
    """

    def __init__(
        self, alphabet: int, dim: int, char_dim: int, word_length: int, pad_statistics: bool
    ) -> None:
        super().__init__()
        self.dim, self.word_length, self.pad_statistics = dim, word_length, pad_statistics
        padding = None if pad_statistics else PAD
        self.characters = nn.Embedding(alphabet, char_dim, padding_idx=padding)

    def forward(self, characters: Tensor, counts: Tensor | None = None) -> Tensor:
        """`counts` [U] are the occurrences of each word in the batch; None for once."""
        raise TypeError("a character network defines forward()")

    def state(self) -> list[Tensor]:
        """Parameters and buffers; several times as fast as `parameters()`."""
        parts = [(*m._parameters.values(), *m._buffers.values()) for m in self._parts()]
        return [tensor for part in parts for tensor in part if tensor is not None]

    def _parts(self) -> tuple[nn.Module, ...]:
        if not hasattr(self, "_modules_of_state"):
            self._modules_of_state = tuple(self.modules())
        return self._modules_of_state

    def read(self, characters: Tensor) -> Tensor:
        """Trim `characters` to the longest word, or pad them to the full word length."""
        characters = characters[:, : self.word_length]
        if (
            torch.jit.is_tracing()
        ):  # a trace cannot depend on lengths, and gets the full word length
            return characters
        if self.pad_statistics:
            return F.pad(characters, (0, self.word_length - characters.shape[1]))
        used = (characters != PAD).any(0).nonzero()
        return characters[:, : int(used[-1]) + 1 if len(used) else 1]


class _Layer(nn.Module):
    """A weight-normalised linear layer, batch norm, LeakyReLU(0.1)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs)
        weight_norm(self.linear)
        self.norm = WeightedBatchNorm(outputs)

    def forward(self, vectors: Tensor, counts: Tensor | None) -> Tensor:
        """vectors [U, ≤ inputs] → [U, outputs]; missing inputs count as zeros."""
        weight = self.linear.weight[:, : vectors.shape[1]]
        return F.leaky_relu(self.norm(linear(vectors, weight, self.linear.bias), counts), 0.1)


class Liwe(CharacterNetwork):
    """Concatenated characters through three weight-normalised layers with batch norm.

    `layers` are the paper's (f1, f2), followed by the layer to `dim`. With `counts`, embedding each
    distinct word once gives the same loss and gradients as embedding every occurrence.

    Args:
        layers: dimensions f1 and f2.

    >>> Liwe(alphabet=101, layers=(128, 256))(torch.ones(2, 5, dtype=torch.int64)).shape
    torch.Size([2, 300])
    """

    def __init__(
        self,
        alphabet: int,
        layers: Sequence[int] = (384, 448),
        dim: int = 300,
        char_dim: int = SMALL,
        word_length: int = 26,
        pad_statistics: bool = False,
    ) -> None:
        super().__init__(alphabet, dim, char_dim, word_length, pad_statistics)
        self.sizes = (word_length * char_dim, *layers, dim)
        self.layers = nn.ModuleList(_Layer(i, o) for i, o in pairwise(self.sizes))

    def forward(self, characters: Tensor, counts: Tensor | None = None) -> Tensor:
        """characters [U, ≤ word_length], counts [U] → [U, dim]."""
        characters = self.read(characters)
        if not self.pad_statistics:
            # A row of padding is not a word.
            real = (characters[:, 0] != PAD).to(torch.int64)
            counts = real if counts is None else counts * real
        vectors = self.characters(characters).flatten(1)  # [U, width · char_dim]
        for layer in self.layers:
            vectors = layer(vectors, counts)
        return vectors


class CharGRU(CharacterNetwork):
    """A GRU over the characters, with max pooling over time.

    >>> CharGRU(alphabet=101)(torch.ones(2, 5, dtype=torch.int64)).shape
    torch.Size([2, 300])
    """

    def __init__(
        self,
        alphabet: int,
        dim: int = 300,
        char_dim: int = SMALL,
        word_length: int = 26,
        pad_statistics: bool = False,
    ) -> None:
        super().__init__(alphabet, dim, char_dim, word_length, pad_statistics)
        self.gru = PackedGRU(char_dim, dim)

    def forward(self, characters: Tensor, counts: Tensor | None = None) -> Tensor:
        """characters [U, ≤ word_length] → [U, dim]; the counts are ignored."""
        characters = self.read(characters)
        if self.pad_statistics:
            lengths = torch.full_like(characters[:, 0], characters.shape[1], dtype=torch.int64)
        else:
            lengths = (characters != PAD).sum(1).clamp(min=1)
        if torch.jit.is_tracing():
            padded = self.gru.traced(self.characters(characters), lengths)
            steps = torch.arange(characters.shape[1], device=characters.device)
            outside = steps >= lengths.unsqueeze(1)
            return padded.masked_fill(outside.unsqueeze(2), -torch.inf).amax(1)
        states, packing = self.gru.encode(self.characters.weight, characters, lengths)
        flat = states.new_full((characters.numel(), self.dim), -torch.inf)
        flat = flat.index_copy(0, packing.flat, states)
        return flat.view(*characters.shape, -1).amax(1)
