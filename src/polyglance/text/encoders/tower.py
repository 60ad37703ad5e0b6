"""The text tower: word ids → word vectors → states → one vector."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError
from polyglance.numerics.products import Linear
from polyglance.numerics.ragged import Ragged
from polyglance.pooling import build_pooling, valid
from polyglance.recipes.schema import Recipe
from polyglance.text.embedders.base import Embedder
from polyglance.text.embedders.encoded import TextBatch
from polyglance.text.embedders.layer import AddedRows, WordLayer, module_name
from polyglance.text.encoders.base import TextEncoder, encoders


class Tower(nn.Module):
    """The interface of text towers; `dim` is the dimension of their output."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, batch: TextBatch, language: str | None = None) -> Tensor:
        """Texts [B, T] of a language → [B, dim], not normalised."""
        raise TypeError("a text tower defines forward()")

    def vectors(self, batch: TextBatch, language: str | None = None) -> Tensor:
        """One vector per word instead of one per text: [B, T, dim], undefined past a length."""
        raise TypeError("a text tower defines vectors()")

    def with_averages(
        self, batch: TextBatch, languages: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Texts [B, dim], and averages [B, W] of their word vectors; neither is normalised.

        Args:
            batch: texts of several languages.
            languages: [B], indices of their languages.
            counted: [B, T] bool, words to average; all by default.
        """
        raise TypeError("this text tower has no word vectors to average")

    def portable(self) -> "dict[str, TextTower]":
        """The towers to export, by language; "" stands for all languages."""
        raise PolyglanceError("a transformer's tokenization into subwords cannot be exported")

    def observe(self, ids: Ragged, cache: Path | None = None) -> None:
        """Prepare for a training on captions [n] with these ids; may use a cache."""

    def word_layers(self) -> list[nn.Module]:
        """The layers that map words to vectors."""
        raise TypeError("a text tower defines word_layers()")

    def of(self, language: str | None) -> "TextTower":
        """The tower of a language."""
        raise TypeError("this text tower reads subwords")


towers: Registry[Callable[[Recipe, Embedder], Tower]] = Registry("text tower")
"""By `text.encoder.kind`: encoders that are a complete tower."""


class TextTower(Tower):
    """Word vectors, an encoder, a pooling, and optionally a projection.

    Args:
        recipe: of the whole model.
        words: maps ids to vectors.
        added: vectors of the words of languages that were added later; None without.
    """

    def __init__(self, recipe: Recipe, words: WordLayer, added: AddedRows | None = None) -> None:
        text = recipe.text
        hidden = text.encoder.dim  # type: ignore[union-attr]
        super().__init__(recipe.joint.dim if text.projection else hidden)
        self.words = words
        self.word_dropout = nn.Dropout(text.word_dropout)
        self.by_position = text.dropout_by == "position"
        encoder = encoders.get(text.encoder.kind)(text, words.dim, recipe.compat)
        self.part = cast(TextEncoder, encoder).part
        self.add_module(self.part, encoder)
        self.pooling = build_pooling(text.pooling, hidden)
        self.dropout = nn.Dropout(text.dropout)
        self.projection = Linear(hidden, self.dim) if text.projection else nn.Identity()
        self.added = added

    @property
    def encoder(self) -> TextEncoder:
        """The encoder, stored under its `part` name."""
        return cast(TextEncoder, getattr(self, self.part))

    def forward(self, batch: TextBatch, language: str | None = None) -> Tensor:
        return self.from_words(*self.words.look_up(batch, self.added), batch.lengths)

    def with_averages(
        self, batch: TextBatch, languages: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        words, index = self.words.look_up(batch, self.added)
        counted = valid(batch.ids, batch.lengths) if counted is None else counted
        counts = counted.sum(1)
        starts = torch.cumsum(counts, 0) - counts
        averages = functional.embedding_bag(index[counted], words, starts, mode="mean")
        averages = self.words.pad_averages(averages, counts, languages)
        return self.from_words(words, index, batch.lengths), averages

    def vectors(self, batch: TextBatch, language: str | None = None) -> Tensor:
        words, index = self.words.look_up(batch, self.added)
        states, _ = self.encoder(*self._drop(words, index), batch.lengths)
        return self.projection(self.dropout(states))

    def from_words(self, words: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Texts [B, dim] from their word vectors.

        Args:
            words: [U, W], word vectors.
            index: [B, T], index into `words`.
            lengths: [B], words of each text.
        """
        states, lengths = self.encoder(*self._drop(words, index), lengths)
        return self.projection(self.dropout(self.pooling(states, lengths)))

    def _drop(self, words: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Word vectors [U, W] and index [B, T], after dropout."""
        if self.by_position and self.training and self.word_dropout.p:
            places = torch.arange(index.numel(), device=index.device).view_as(index)
            words, index = words.index_select(0, index.flatten()), places
        return self.word_dropout(words), index

    def word_layers(self) -> list[nn.Module]:
        return [self.words, *([] if self.added is None else [self.added])]

    def of(self, language: str | None) -> "TextTower":
        return self

    def portable(self) -> "dict[str, TextTower]":
        return {"": self}


class LanguageTowers(Tower):
    """A separate text tower for every language (Gella et al. 2017)."""

    def __init__(self, towers: Mapping[str, TextTower], pivots: Mapping[str, str]) -> None:
        """`pivots` maps added languages to those whose towers they use."""
        super().__init__(next(iter(towers.values())).dim)
        self.towers = nn.ModuleDict({module_name(code): t for code, t in towers.items()})
        self.codes = list(towers)
        self.pivots = dict(pivots)

    def of(self, language: str | None) -> TextTower:
        name = self.pivots.get(str(language), str(language))
        return cast(TextTower, self.towers[module_name(name)])

    def portable(self) -> dict[str, TextTower]:
        return {code: self.of(code) for code in self.codes}

    def forward(self, batch: TextBatch, language: str | None = None) -> Tensor:
        return self.of(language)(batch)

    def vectors(self, batch: TextBatch, language: str | None = None) -> Tensor:
        return self.of(language).vectors(batch)

    def with_averages(
        self, batch: TextBatch, languages: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        parts = []
        for number, tower in enumerate(cast("list[TextTower]", list(self.towers.values()))):
            mine = torch.nonzero(languages == number).squeeze(1)
            if len(mine):
                own = TextBatch(batch.ids[mine], batch.lengths[mine], batch.unseen)
                some = None if counted is None else counted[mine]
                parts.append((mine, *tower.with_averages(own, torch.zeros_like(mine), some)))
        rows, texts, averages = map(torch.cat, zip(*parts, strict=True))
        order = torch.argsort(rows)
        return texts[order], averages[order]

    def word_layers(self) -> list[nn.Module]:
        return [
            part for tower in self.towers.values() for part in cast(TextTower, tower).word_layers()
        ]
