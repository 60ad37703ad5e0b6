"""Captions generated from the vectors of an image (Li et al. 2019, VSRN, §3.4, Eq. 9)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.products import Linear, linear
from polyglance.numerics.recurrent import PackedGRU
from polyglance.recipes.schema import CaptioningRecipe


def caption_loss(logits: Tensor, words: Tensor, captions: int) -> Tensor:
    """−Σ log p(word): the sum over words, the mean over captions.

    Args:
        logits: [n, V], for the n words of all captions.
        words: [n], ids of the words.
        captions: number of captions.

    >>> round(float(caption_loss(torch.zeros(6, 4), torch.zeros(6, dtype=torch.long), 2)), 4)
    4.1589
    """
    return functional.cross_entropy(logits, words, reduction="sum") / captions


class CaptionGenerator(nn.Module):
    """Generates a caption from an image's vectors with a GRU encoder and an attention decoder.

    The S2VT model with attention of VSRN's code, teacher-forced: word t is predicted from the
    words before it and the encoder's states, weighted by attention. It is used in training only
    and not saved with the model. Unlike VSRN's code, it does not predict a padding symbol after
    the last word.

    Args:
        recipe: dimensions and dropout.
        dim: D, of an image's vectors.
        words: size of the vocabulary.

    One that prefers no word of four has the loss log 4 for each word after `<start>`:

    >>> generator = CaptionGenerator(CaptioningRecipe(hidden=8, word_dim=4), dim=6, words=4).eval()
    >>> _ = nn.init.zeros_(generator.output.weight), nn.init.zeros_(generator.output.bias)
    >>> vectors, lengths = torch.randn(2, 5, 6), torch.tensor([5, 3])
    >>> ids, sizes = torch.tensor([[1, 3, 2], [1, 2, 0]]), torch.tensor([3, 2])
    >>> round(generator(vectors, lengths, ids, sizes).item(), 4)  # (2 + 1) / 2 · log 4
    2.0794
    """

    def __init__(self, recipe: CaptioningRecipe, dim: int, words: int) -> None:
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
            lengths: [B], vectors per image.
            ids: [B, T], words of a caption from `<start>` to `<end>`.
            sizes: [B], words per caption.
        """
        states, last = self._encode(vectors, lengths)
        inside = torch.arange(states.shape[1], device=ids.device) < lengths.unsqueeze(1)  # [B, K]
        keys, query = self.attention.weight.split(states.shape[2], dim=1)
        keys = linear(states, keys, self.attention.bias)  # [B, K, H]
        words, hidden, outputs = self.words(ids[:, :-1]), last, []
        for step in range(words.shape[1]):
            fits = self.weight(torch.tanh(keys + linear(hidden, query).unsqueeze(1)))
            shares = fits.squeeze(2).masked_fill(~inside, float("-inf")).softmax(1)
            context = torch.bmm(shares.unsqueeze(1), states).squeeze(1)  # [B, H]
            inputs = self.dropout(torch.cat([words[:, step], context], 1))
            hidden = self.decoder(inputs, hidden)
            outputs.append(hidden)
        steps = torch.arange(words.shape[1], device=ids.device)
        counted = steps < (sizes - 1).unsqueeze(1)  # [B, T − 1]
        logits = self.output(torch.stack(outputs, 1)[counted])
        return caption_loss(logits, ids[:, 1:][counted], len(ids))

    def _encode(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, K, H] of the vectors, 0 past a length, and the last states [B, H]."""
        inputs = self.dropout(self.inputs(vectors))
        states, packing = self.encoder.encode_padded(inputs, lengths)
        batch, count = vectors.shape[:2]
        padded = states.new_zeros(batch * count, states.shape[1])
        padded = padded.index_copy(0, packing.flat, states)
        return padded.view(batch, count, -1), states[packing.last]
