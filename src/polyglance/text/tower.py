"""The text tower: word ids → word vectors → recurrent states → one vector."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from polyglance.pooling import build_pooling
from polyglance.recipes.schema import CompatRecipe, TextRecipe
from polyglance.text.lexicon import Lexicon
from polyglance.text.recurrent import PackedGRU
from polyglance.text.spellings import Spellings
from polyglance.text.transformer import TransformerTower
from polyglance.text.word_layers import FrozenEncoder, build_words

if TYPE_CHECKING:
    from polyglance.text.vectors import WordVectors

PAPER = CompatRecipe()


class TextTower(nn.Module):
    """Word vectors, GRU or BiGRU, pooling (spec §2.2, §4.3); optionally a projection.

    `vocabulary` is the number of words of a table, or the lexicon of spelt words, whose reader
    may have pretrained `vectors`.
    """

    def __init__(
        self,
        recipe: TextRecipe,
        vocabulary: int | Lexicon,
        dim: int,
        vectors: "WordVectors | None" = None,
        compat: CompatRecipe = PAPER,
    ) -> None:
        super().__init__()
        self.recipe, self.unpacked = recipe, compat.unpacked
        both = recipe.encoder == "bigru"
        self.words = build_words(recipe, vocabulary, vectors, compat)
        self.word_dropout = nn.Dropout(recipe.word_dropout)
        self.gru = PackedGRU(self.words.size, recipe.hidden, bidirectional=both)
        wide = both and recipe.directions == "concatenate"
        size = recipe.hidden * (2 if wide else 1)
        self.pooling = build_pooling(recipe.pooling, size)
        self.dropout = nn.Dropout(recipe.dropout)
        self.projection = nn.Linear(size, dim) if recipe.projection else nn.Identity()
        self.size = dim if recipe.projection else size

    def forward(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """ids [B, T], lengths [B] ≥ 1 → [B, size], not normalised; the language is not used."""
        pooled = self.pooling(self._states(ids, lengths), lengths)
        return self.projection(self.dropout(pooled))

    def vectors(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """One vector a word instead of one a text: [B, T, size], undefined past a length."""
        return self.projection(self.dropout(self._states(ids, lengths)))

    def _states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        words, index = self._word_vectors(ids, lengths)
        steps = torch.full_like(lengths, ids.shape[1]) if self.unpacked else lengths
        states, packing = self.gru.encode(self.word_dropout(words), index, steps)
        if self.gru.bidirectional and self.recipe.directions == "average":
            states = states.unflatten(1, (2, -1)).mean(1)
        padded = states.new_zeros(ids.numel(), states.shape[1]).index_copy(0, packing.flat, states)
        return padded.view(*ids.shape, -1)

    def _word_vectors(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors [U, words], and which of them stands where [B, T]."""
        if isinstance(self.words, FrozenEncoder):
            places = torch.arange(ids.numel(), device=ids.device)
            return self.words(ids, lengths).flatten(0, 1), places.view_as(ids)
        distinct, index, counts = torch.unique(ids, return_inverse=True, return_counts=True)
        return self.words(distinct, counts), index


class LanguageTowers(nn.Module):
    """A text tower of its own for every language (Gella et al. 2017)."""

    def __init__(self, towers: Mapping[str, TextTower]) -> None:
        super().__init__()
        # A bare code may be the name of a method of ModuleDict, such as Tongan's "to".
        self.towers = nn.ModuleDict({f"language_{code}": t for code, t in towers.items()})
        self.size = next(iter(towers.values())).size

    def forward(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """ids [B, T] of one language, lengths [B] ≥ 1 → [B, size], not normalised."""
        return self.towers[f"language_{language}"](ids, lengths)

    def vectors(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """One vector a word, as `TextTower.vectors`."""
        tower = self.towers[f"language_{language}"]
        assert isinstance(tower, TextTower)
        return tower.vectors(ids, lengths)


def build_text_tower(
    recipe: TextRecipe,
    vocabulary: Mapping[str, int] | Spellings,
    dim: int,
    compat: CompatRecipe = PAPER,
) -> TextTower | LanguageTowers | TransformerTower:
    """The tower of a recipe, for spelt words, or for numbers of words under "" or by language."""
    if recipe.encoder == "transformer":
        return TransformerTower(recipe, dim)
    parts: Mapping[str, int | Lexicon]
    if isinstance(vocabulary, Spellings):
        parts, vectors = vocabulary.lexicons, vocabulary.vectors
    else:
        parts, vectors = vocabulary, None
    if recipe.spells and vocabulary is parts:
        raise TypeError("spelt words need their reader")
    towers = {code: TextTower(recipe, part, dim, vectors, compat) for code, part in parts.items()}
    return LanguageTowers(towers) if recipe.towers == "per-language" else towers[""]
