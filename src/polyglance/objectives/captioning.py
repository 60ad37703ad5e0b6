"""Captions generated from the vectors of an image (Li et al. 2019, VSRN, §3.4, Eq. 9)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.products import Linear, linear
from polyglance.numerics.recurrent import PackedGRU
from polyglance.recipes.schema import CaptioningRecipe


def caption_loss(logits: Tensor, words: Tensor, captions: int) -> Tensor:
    """−Σ log p(word) of all words, for each caption: the sum over words, the mean over captions.

    Args:
        logits: [n, V], of the n words of all captions.
        words: [n], the words that stand there.
        captions: how many there are.

    >>> round(float(caption_loss(torch.zeros(6, 4), torch.zeros(6, dtype=torch.long), 2)), 4)
    4.1589
    """
    return functional.cross_entropy(logits, words, reduction="sum") / captions


class CaptionGenerator(nn.Module):
    """A GRU reads an image's vectors, another one with attention writes the caption.

    The S2VT model with attention of VSRN's code, teacher-forced: word t is predicted from the
    words before it and from the encoder's states, weighted by how they fit the decoder's. Only
    training has it; the model that is saved has not. The code also predicts one padding symbol
    behind the last word, which is not repeated.
    """

    def __init__(self, recipe: CaptioningRecipe, dim: int, words: int) -> None:
        """A generator of `words` words from vectors of dimension `dim`."""
        super().__init__()
        hidden = recipe.hidden
        self.inputs = Linear(dim, hidden)
        self.encoder = PackedGRU(hidden, hidden)
        self.words = nn.Embedding(words, recipe.word_dim)
        self.attention = Linear(2 * hidden, hidden)
        self.weight = nn.Linear(hidden, 1, bias=False)
        self.decoder = nn.GRUCell(recipe.word_dim + hidden, hidden)
        self.output = Linear(hidden, words)
        self.dropout = nn.Dropout(recipe.dropout)
        for layer in (self.inputs, self.output):
            nn.init.xavier_normal_(layer.weight)

    def forward(self, vectors: Tensor, lengths: Tensor, ids: Tensor, sizes: Tensor) -> Tensor:
        """The loss of captions.

        Args:
            vectors: [B, K, D], of the images.
            lengths: [B], how many each has.
            ids: [B, T], words of a caption from its `<start>` to its `<end>`.
            sizes: [B], how many each has.
        """
        states, last = self._encode(vectors, lengths)
        inside = torch.arange(states.shape[1], device=ids.device) < lengths.unsqueeze(1)  # [B, K]
        keys, query = self.attention.weight.split(states.shape[2], dim=1)
        keys = linear(states, keys, self.attention.bias)  # [B, K, H]
        words, hidden, written = self.words(ids[:, :-1]), last, []
        for step in range(words.shape[1]):
            fits = self.weight(torch.tanh(keys + linear(hidden, query).unsqueeze(1)))
            shares = fits.squeeze(2).masked_fill(~inside, float("-inf")).softmax(1)
            context = torch.bmm(shares.unsqueeze(1), states).squeeze(1)  # [B, H]
            given = self.dropout(torch.cat([words[:, step], context], 1))
            hidden = self.decoder(given, hidden)
            written.append(hidden)
        steps = torch.arange(words.shape[1], device=ids.device)
        counted = steps < (sizes - 1).unsqueeze(1)  # [B, T − 1]
        logits = self.output(torch.stack(written, 1)[counted])
        return caption_loss(logits, ids[:, 1:][counted], len(ids))

    def _encode(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, K, H] of the vectors, 0 past a length, and the last of each [B, H]."""
        inputs = self.dropout(self.inputs(vectors))
        states, packing = self.encoder.encode_padded(inputs, lengths)
        batch, count = vectors.shape[:2]
        padded = states.new_zeros(batch * count, states.shape[1])
        padded = padded.index_copy(0, packing.flat, states)
        return padded.view(batch, count, -1), states[packing.last]
