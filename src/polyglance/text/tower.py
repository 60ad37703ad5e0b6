"""The text tower: word ids → word vectors → recurrent states → one vector."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from polyglance.pooling import build_pooling
from polyglance.recipes.schema import TextRecipe
from polyglance.text.recurrent import PackedGRU
from polyglance.text.transformer import TransformerTower


class TextTower(nn.Module):
    """Word table, GRU or BiGRU, pooling (spec §2.2); optionally a projection to the joint space."""

    def __init__(self, recipe: TextRecipe, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.recipe = recipe
        both = recipe.encoder == "bigru"
        self.words = nn.Embedding(vocabulary, recipe.words)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)
        self.word_dropout = nn.Dropout(recipe.word_dropout)
        self.gru = PackedGRU(recipe.words, recipe.hidden, bidirectional=both)
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
        distinct, index = torch.unique(ids, return_inverse=True)
        words = self.word_dropout(self.words(distinct))
        states, packing = self.gru.encode(words, index, lengths)
        if self.gru.bidirectional and self.recipe.directions == "average":
            states = states.unflatten(1, (2, -1)).mean(1)
        padded = states.new_zeros(ids.numel(), states.shape[1]).index_copy(0, packing.flat, states)
        return padded.view(*ids.shape, -1)


class LanguageTowers(nn.Module):
    """A text tower of its own for every language (Gella et al. 2017)."""

    def __init__(self, recipe: TextRecipe, vocabularies: Mapping[str, int], dim: int) -> None:
        super().__init__()
        towers = {code: TextTower(recipe, size, dim) for code, size in vocabularies.items()}
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
    recipe: TextRecipe, vocabularies: Mapping[str, int], dim: int
) -> TextTower | LanguageTowers | TransformerTower:
    """The tower of a recipe; `vocabularies` has the words under "", or those of each language."""
    if recipe.encoder == "transformer":
        return TransformerTower(recipe, dim)
    if recipe.towers == "per-language":
        return LanguageTowers(recipe, vocabularies, dim)
    return TextTower(recipe, vocabularies[""], dim)
