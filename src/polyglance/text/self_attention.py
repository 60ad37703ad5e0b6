"""Self-attention over the words of a caption: the Translator's text encoder (spec §6.2)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.recipes.schema import SelfAttentionRecipe


class SelfAttention(nn.Module):
    """One layer without positions: a caption is a set of words.

    Heads of size `head_size` with residual and LayerNorm, then inputs → hidden → ReLU → hidden
    with neither, as in the authors' code.

    >>> layer = SelfAttention(8, SelfAttentionRecipe(hidden=16, heads=2, head_dim=4)).eval()
    >>> layer(torch.randn(3, 5, 8), torch.ones(3, 5, dtype=torch.bool)).shape
    torch.Size([3, 5, 16])
    """

    def __init__(self, inputs: int, recipe: SelfAttentionRecipe) -> None:
        super().__init__()
        self.heads, self.attention_dropout = recipe.heads, recipe.attention_dropout
        wide = recipe.heads * recipe.head_dim
        self.project = nn.Linear(inputs, 3 * wide)
        self.join = nn.Linear(wide, inputs)
        self.dropout = nn.Dropout(recipe.layer_dropout)
        self.norm = nn.LayerNorm(inputs)
        self.widen = nn.Linear(inputs, recipe.hidden)
        self.last = nn.Linear(recipe.hidden, recipe.hidden)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Word vectors [B, T, inputs], of which mask [B, T] are words → [B, T, hidden]."""
        projected = self.project(vectors).unflatten(2, (3, self.heads, -1))
        queries, keys, values = projected.permute(2, 0, 3, 1, 4)  # [B, heads, T, head_size]
        dropped = self.attention_dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(
            queries, keys, values, mask[:, None, None, :], dropped
        )
        joined = self.dropout(self.join(attended.transpose(1, 2).flatten(2)))
        states = self.norm(joined + vectors)
        return self.last(torch.relu(self.widen(states)))
