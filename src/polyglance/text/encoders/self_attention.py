"""Self-attention over the words of a caption: the Translator's text encoder."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.products import Linear
from polyglance.pooling import valid
from polyglance.recipes.schema import CompatRecipe, SelfAttentionRecipe, TextRecipe
from polyglance.text.encoders.base import encoders


@encoders.register("attention")
class SelfAttention(nn.Module):
    """One layer without positions: a caption is a set of words.

    The encoder in the code of Liu et al. 2019: multi-head attention with residual and LayerNorm,
    then inputs → hidden → ReLU → hidden without them.

    Args:
        recipe: of the text tower.
        inputs: dimension of a word vector.
        compat: whether to attend to padding, as the authors' code does.

    >>> settings = SelfAttentionRecipe(hidden=16, heads=2, head_dim=4)
    >>> layer = SelfAttention(TextRecipe(encoder=settings), 8, CompatRecipe()).eval()
    >>> layer(torch.randn(9, 8), torch.zeros(3, 5, dtype=torch.long), torch.full((3,), 5))[0].shape
    torch.Size([3, 5, 16])
    """

    part = "attention"

    def __init__(self, recipe: TextRecipe, inputs: int, compat: CompatRecipe) -> None:
        super().__init__()
        settings = recipe.encoder
        assert isinstance(settings, SelfAttentionRecipe)
        self.heads, self.attention_dropout = settings.heads, settings.attention_dropout
        self.padded_length = recipe.max_length if compat.padded_attention else None
        wide = settings.heads * settings.head_dim
        self.project = Linear(inputs, 3 * wide)
        self.join = Linear(wide, inputs)
        self.dropout = nn.Dropout(settings.layer_dropout)
        self.norm = nn.LayerNorm(inputs)
        self.widen = Linear(inputs, settings.hidden)
        self.last = Linear(settings.hidden, settings.hidden)

    def forward(self, words: Tensor, index: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Word vectors [U, W], index [B, T] into them → states [B, T, D], lengths [B]."""
        vectors = words[index]
        mask = valid(vectors, lengths)
        if self.padded_length is not None:
            vectors = vectors * mask.unsqueeze(2)
            vectors = functional.pad(vectors, (0, 0, 0, self.padded_length - vectors.shape[1]))
            mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
            lengths = torch.full_like(lengths, vectors.shape[1])
        return self.attend(vectors, mask), lengths

    def attend(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Word vectors [B, T, W], mask [B, T] of words → [B, T, D]."""
        shape = vectors.shape[0], vectors.shape[1], 3, self.heads, -1
        projected = self.project(vectors).view(shape)
        queries, keys, values = projected.permute(2, 0, 3, 1, 4)  # [B, heads, T, head_dim]
        dropped = self.attention_dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(
            queries, keys, values, mask[:, None, None, :], dropped
        )
        joined = self.dropout(self.join(attended.transpose(1, 2).flatten(2)))
        states = self.norm(joined + vectors)
        return self.last(torch.relu(self.widen(states)))
