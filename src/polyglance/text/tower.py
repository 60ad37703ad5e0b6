"""The text tower: word ids → word vectors → recurrent states → one vector."""

import torch
from torch import Tensor, nn

from polyglance.pooling import build_pooling
from polyglance.recipes.schema import TextRecipe
from polyglance.text.recurrent import PackedGRU


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

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """ids [B, T], lengths [B] ≥ 1 → [B, size], not normalised."""
        distinct, index = torch.unique(ids, return_inverse=True)
        words = self.word_dropout(self.words(distinct))
        states, packing = self.gru.encode(words, index, lengths)
        if self.gru.bidirectional and self.recipe.directions == "average":
            states = states.unflatten(1, (2, -1)).mean(1)
        padded = states.new_zeros(ids.numel(), states.shape[1]).index_copy(0, packing.flat, states)
        pooled = self.pooling(padded.view(*ids.shape, -1), lengths)
        return self.projection(self.dropout(pooled))
