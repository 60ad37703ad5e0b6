"""Where a text tower's word vectors come from: a table, characters, or a frozen transformer."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from polyglance.pooling import valid
from polyglance.recipes.schema import (
    CharacterEmbedderRecipe,
    CompatRecipe,
    LiweEmbedderRecipe,
    TableEmbedderRecipe,
    TextRecipe,
    TransformerEmbedderRecipe,
)
from polyglance.text.lexicon import Lexicon
from polyglance.text.pretrained import encoder_folder, load_encoder
from polyglance.text.spelt_words import SpeltWords
from polyglance.text.translated_words import TranslatedWords
from polyglance.text.universal_words import StoredWords, UniversalWords
from polyglance.text.word_embedders import CharGRU, Liwe, WordEmbedder

if TYPE_CHECKING:
    from polyglance.text.vectors import WordVectors


Layer = UniversalWords | StoredWords | TranslatedWords
"""Layers that are built before the tower."""


class WordTable(nn.Embedding):
    """A vector of its own for every word of a vocabulary."""

    def __init__(self, words: int, size: int) -> None:
        super().__init__(words, size)
        self.size = size
        nn.init.uniform_(self.weight, -0.1, 0.1)

    def forward(self, input: Tensor, counts: Tensor | None = None) -> Tensor:
        """Distinct ids [U] → [U, size]."""
        return super().forward(input)


class KnownWords(nn.Module):
    """Spelt words with pretrained vectors beside them, zeros for words that have none."""

    table: Tensor

    def __init__(self, spelt: SpeltWords, vectors: "WordVectors") -> None:
        super().__init__()
        self.spelt, self.vectors = spelt, vectors
        known = torch.from_numpy(vectors.matrix)
        self.register_buffer("table", torch.cat([known.new_zeros(1, vectors.dim), known]))
        self.size = spelt.size + vectors.dim

    def forward(self, ids: Tensor, counts: Tensor | None = None) -> Tensor:
        """Distinct ids [U] of the lexicon → [U, size]."""
        words = self.spelt.lexicon.decode(ids.tolist())
        rows = torch.from_numpy(self.vectors.rows(words) + 1).to(ids.device)
        return torch.cat([self.spelt(ids, counts), self.table[rows]], 1)


class FrozenEncoder(nn.Module):
    """Outputs of a pretrained transformer, which is not trained (LIWE's BERT+GRU)."""

    def __init__(self, recipe: TextRecipe) -> None:
        super().__init__()
        self.encoder = load_encoder(encoder_folder(recipe)).requires_grad_(False).eval()
        self.padding = getattr(self.encoder.config, "pad_token_id", None) or 0
        self.size = int(self.encoder.config.hidden_size)

    def train(self, mode: bool = True) -> "FrozenEncoder":
        """As every module's; the encoder stays in evaluation, without dropout."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Pieces [B, T] with lengths [B] → [B, T, size]."""
        mask = valid(ids, lengths)
        ids = ids.masked_fill(~mask, self.padding)
        with torch.no_grad():
            return self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state


def build_words(
    recipe: TextRecipe,
    vocabulary: int | Lexicon | Layer,
    vectors: "WordVectors | None",
    compat: CompatRecipe,
) -> WordTable | SpeltWords | KnownWords | FrozenEncoder | Layer:
    """The layer of a recipe, over a vocabulary of some words, over a lexicon, or as it is."""
    if isinstance(vocabulary, Layer):
        return vocabulary
    embedder = recipe.embedder
    if isinstance(embedder, TransformerEmbedderRecipe):
        return FrozenEncoder(recipe)
    if isinstance(vocabulary, int):
        assert isinstance(embedder, TableEmbedderRecipe)
        return WordTable(vocabulary, embedder.word_dim)
    assert isinstance(embedder, CharacterEmbedderRecipe)
    spelt = SpeltWords(_embedder(embedder, len(vocabulary.alphabet), compat), vocabulary)
    return spelt if vectors is None else KnownWords(spelt, vectors)


def _embedder(recipe: CharacterEmbedderRecipe, alphabet: int, compat: CompatRecipe) -> WordEmbedder:
    sizes = recipe.word_dim, recipe.char_dim, recipe.word_length, compat.pad_statistics
    if isinstance(recipe, LiweEmbedderRecipe):
        return Liwe(alphabet, recipe.layers, *sizes)
    return CharGRU(alphabet, *sizes)
