"""The text tower: word ids → word vectors → recurrent states → one vector."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.pooling import build_pooling, valid
from polyglance.recipes.schema import (
    BiGruRecipe,
    CompatRecipe,
    Recipe,
    SelfAttentionRecipe,
    TextRecipe,
    TransformerRecipe,
)
from polyglance.recurrent import PackedGRU
from polyglance.text.added_words import AddedReader, AddedRows
from polyglance.text.closed import ClosedVocabularies
from polyglance.text.forms import spells
from polyglance.text.lexicon import Lexicon
from polyglance.text.self_attention import SelfAttention
from polyglance.text.spellings import Spellings
from polyglance.text.transformer import TransformerTower
from polyglance.text.universal_words import UniversalWords, build_universal_words
from polyglance.text.word_layers import FrozenEncoder, Layer, build_words

if TYPE_CHECKING:
    from polyglance.text.vectors import WordVectors

PAPER = CompatRecipe()


class TextTower(nn.Module):
    """Word vectors, GRU, BiGRU or self-attention, pooling (spec §2.2, §4.3, §6.2); a projection.

    `vocabulary` is the number of words of a table, the lexicon of spelt words, whose reader may
    have pretrained `vectors`, or the layer of universal or translated words. `added` has the
    words of languages that came later.
    """

    def __init__(
        self,
        recipe: TextRecipe,
        vocabulary: int | Lexicon | Layer,
        dim: int,
        vectors: "WordVectors | None" = None,
        compat: CompatRecipe = PAPER,
    ) -> None:
        super().__init__()
        self.recipe, self.unpacked = recipe, compat.unpacked
        self.padded = compat.padded_attention
        self.added: AddedRows | None = None
        encoder = recipe.encoder
        assert not isinstance(encoder, TransformerRecipe)
        both = isinstance(encoder, BiGruRecipe)
        self.words = build_words(recipe, vocabulary, vectors, compat)
        self.word_dropout = nn.Dropout(recipe.word_dropout)
        if isinstance(encoder, SelfAttentionRecipe):
            self.attention = SelfAttention(self.words.size, encoder)
        else:
            self.gru = PackedGRU(self.words.size, encoder.hidden, both, encoder.biases)
        self.averaged = isinstance(encoder, BiGruRecipe) and encoder.directions == "average"
        size = encoder.dim
        self.pooling = build_pooling(recipe.pooling, size)
        self.dropout = nn.Dropout(recipe.dropout)
        self.projection = nn.Linear(size, dim) if recipe.projection else nn.Identity()
        self.size = dim if recipe.projection else size

    def forward(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """ids [B, T], lengths [B] ≥ 1 → [B, size], not normalised; the language is not used."""
        words, index = self._word_vectors(ids, lengths)
        return self._sentence(words, index, lengths)

    def read(
        self, ids: Tensor, lengths: Tensor, speakers: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Texts [B, size] as `forward` gives them, and averages [B, words] of their word vectors.

        Averages are over the words `counted` [B, T], all by default; neither is normalised.
        `speakers` [B] are the numbers of their languages.
        """
        words, index = self._word_vectors(ids, lengths)
        counted = valid(ids, lengths) if counted is None else counted
        counts = counted.sum(1)
        starts = torch.cumsum(counts, 0) - counts
        averages = functional.embedding_bag(index[counted], words, starts, mode="mean")
        if isinstance(self.words, UniversalWords) and self.words.padding is not None:
            padding = self.words.padding_vectors()[speakers]
            missing = (self.recipe.max_length - counts) / counts.clamp(min=1)
            averages = averages + missing.unsqueeze(1) * padding
        return self._sentence(words, index, lengths), averages

    def _sentence(self, words: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        states = self._states(words, index, lengths)
        if self.padded:
            lengths = torch.full_like(lengths, states.shape[1])
        return self.projection(self.dropout(self.pooling(states, lengths)))

    def vectors(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """One vector a word instead of one a text: [B, T, size], undefined past a length."""
        words, index = self._word_vectors(ids, lengths)
        return self.projection(self.dropout(self._states(words, index, lengths)))

    def _states(self, words: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        if self.recipe.encoder.kind == "attention":
            return self._attend(self.word_dropout(words)[index], lengths)
        steps = torch.full_like(lengths, index.shape[1]) if self.unpacked else lengths
        states, packing = self.gru.encode(self.word_dropout(words), index, steps)
        if self.averaged:
            states = states.unflatten(1, (2, -1)).mean(1)
        padded = states.new_zeros(index.numel(), states.shape[1])
        return padded.index_copy(0, packing.flat, states).view(*index.shape, -1)

    def _attend(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        mask = valid(vectors, lengths)
        if self.padded:
            vectors = vectors * mask.unsqueeze(2)
            missing = self.recipe.max_length - vectors.shape[1]
            vectors = functional.pad(vectors, (0, 0, 0, missing))
            mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return self.attention(vectors, mask)

    def _word_vectors(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors [U, words], and which of them stands where [B, T]."""
        if isinstance(self.words, FrozenEncoder):
            places = torch.arange(ids.numel(), device=ids.device)
            return self.words(ids, lengths).flatten(0, 1), places.view_as(ids)
        distinct, index, counts = torch.unique(ids, return_inverse=True, return_counts=True)
        if self.added is not None:
            return self.added.look_up(self.words, distinct, counts), index
        return self.words(distinct, counts), index


class LanguageTowers(nn.Module):
    """A text tower of its own for every language (Gella et al. 2017)."""

    def __init__(self, towers: Mapping[str, TextTower]) -> None:
        super().__init__()
        # A bare code may be the name of a method of ModuleDict, such as Tongan's "to".
        self.towers = nn.ModuleDict({f"language_{code}": t for code, t in towers.items()})
        self.size = next(iter(towers.values())).size
        self.pivots: dict[str, str] = {}
        """Of an added language, whose tower reads it."""

    def of(self, language: str | None) -> TextTower:
        """The tower that reads a language."""
        tower = self.towers[f"language_{self.pivots.get(str(language), language)}"]
        assert isinstance(tower, TextTower)
        return tower

    def forward(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """ids [B, T] of one language, lengths [B] ≥ 1 → [B, size], not normalised."""
        return self.of(language)(ids, lengths)

    def read(
        self, ids: Tensor, lengths: Tensor, speakers: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `TextTower.read`, each text by the tower of its number in `speakers` [B]."""
        parts = []
        for number, tower in enumerate(self.towers.values()):
            mine = torch.nonzero(speakers == number).squeeze(1)
            if len(mine):
                assert isinstance(tower, TextTower)
                some = None if counted is None else counted[mine]
                read = tower.read(ids[mine], lengths[mine], torch.zeros_like(mine), some)
                parts.append((mine, *read))
        rows, texts, averages = map(torch.cat, zip(*parts, strict=True))
        order = torch.argsort(rows)
        return texts[order], averages[order]

    def vectors(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """One vector a word, as `TextTower.vectors`."""
        return self.of(language).vectors(ids, lengths)


def build_text_tower(
    recipe: TextRecipe,
    vocabulary: Mapping[str, int] | Spellings,
    dim: int,
    compat: CompatRecipe = PAPER,
) -> TextTower | LanguageTowers | TransformerTower:
    """The tower of a recipe, for spelt words, or for numbers of words under "" or by language."""
    if recipe.encoder.kind == "transformer":
        return TransformerTower(recipe, dim)
    parts: Mapping[str, int | Lexicon]
    if isinstance(vocabulary, Spellings):
        parts, vectors = vocabulary.lexicons, vocabulary.vectors
    else:
        parts, vectors = vocabulary, None
    if spells(recipe) and vocabulary is parts:
        raise TypeError("spelt words need their reader")
    towers = {code: TextTower(recipe, part, dim, vectors, compat) for code, part in parts.items()}
    return LanguageTowers(towers) if recipe.towers == "per-language" else towers[""]


def build_universal_tower(
    recipe: Recipe, reader: ClosedVocabularies, dim: int
) -> TextTower | LanguageTowers:
    """The tower of universal words: one after them for all languages, or one a language."""
    if recipe.text.towers == "shared":
        words = build_universal_words(recipe, reader)
        return TextTower(recipe.text, words, dim, compat=recipe.compat)
    layers = {code: build_universal_words(recipe, reader, code) for code in reader.tables}
    return LanguageTowers(
        {
            code: TextTower(recipe.text, words, dim, compat=recipe.compat)
            for code, words in layers.items()
        }
    )


def add_languages(tower: TextTower | LanguageTowers, reader: AddedReader) -> None:
    """Give a tower tables for the languages added to its reader."""
    if isinstance(tower, TextTower):
        tower.added = AddedRows(reader, tower.words.size, reader.added)
        return
    tower.pivots = {code: language.pivot for code, language in reader.added.items()}
    for pivot in set(tower.pivots.values()):
        codes = [code for code, own in tower.pivots.items() if own == pivot]
        tower.of(pivot).added = AddedRows(reader, tower.of(pivot).words.size, codes)
