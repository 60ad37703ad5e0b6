"""A trained vector for every word of a vocabulary."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe, TableEmbedderRecipe
from polyglance.storage.files import read_json, write_json
from polyglance.text.embedders.base import (
    Embedder,
    LanguageTags,
    ReadWords,
    Substitutes,
    Texts,
    TrainingTexts,
    Words,
    by_language,
    register,
)
from polyglance.text.embedders.characters.known_vectors import vectors_of
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.embedders.vocabulary import END, SPECIALS, START, UNKNOWN, Vocabulary
from polyglance.text.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from polyglance.text.embedders.table_layer import WordTable

FILE = "vocabulary.json"


@register
class TableEmbedder(Embedder):
    """The vocabularies of a model: one under "" for all languages, or one per language."""

    variants = (TableEmbedderRecipe,)

    def __init__(self, recipe: Recipe, vocabularies: Mapping[str, Vocabulary]) -> None:
        super().__init__(recipe)
        assert isinstance(recipe.text.embedder, TableEmbedderRecipe)
        self.settings = recipe.text.embedder
        self.vocabularies = dict(vocabularies)
        self.vectors: WordVectors | None = None
        """Initial word vectors; None in a loaded model, whose weights contain them."""

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "TableEmbedder":
        settings, words = recipe.text.embedder, texts.by_language()
        assert isinstance(settings, TableEmbedderRecipe)
        if recipe.text.towers == "per-language":
            built = cls(recipe, Vocabulary.build_tables(words, settings.min_count))
        else:
            built = cls(recipe, {"": Vocabulary.build(words, settings.min_count, settings.scope)})
        if settings.vectors is not None:
            built.vectors = _read(settings, built.vocabularies)
        return built

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> "TableEmbedder":
        names = map(str, range(words - len(SPECIALS)))
        return cls(recipe, {"": Vocabulary(names)})

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "TableEmbedder":
        value, where = read_json(folder / FILE), str(folder / FILE)
        tables: Any = {"": value}
        if isinstance(value, dict) and isinstance(value.get("tables"), dict):
            tables = value["tables"]
        return cls(recipe, {code: Vocabulary.from_json(own, where) for code, own in tables.items()})

    def save(self, folder: Path) -> None:
        values = {code: own.to_json() for code, own in self.vocabularies.items()}
        write_json(folder / FILE, values.get("", {"tables": values}))

    def vocabulary(self, language: str | None) -> Vocabulary:
        """The vocabulary of a language."""
        return by_language(self.vocabularies, language)

    @property
    def towers(self) -> list[str]:
        return list(self.vocabularies)

    def layer(self, tower: str = "") -> "WordTable":
        from polyglance.text.embedders.table_layer import WordTable

        mask = self.recipe.augment.word_drop > 0
        table = WordTable(len(self.vocabularies[tower]) + mask, self.settings.word_dim)
        if self.vectors is not None:
            table.initialise(self.vectors, self.vocabularies[tower].words)
        return table

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        longest, ends = self.recipe.text.max_length, self.settings.ends
        if "" in self.vocabularies:
            return EncodedTexts(self.vocabularies[""].encode_many(words, longest, ends))
        parts = [
            self.vocabulary(language).encode(found, longest, ends)
            for found, language in zip(words, languages, strict=True)
        ]
        return EncodedTexts(Ragged.join(parts))

    def substitutes(self, language: str | None) -> Substitutes:
        """`<mask>`, and any word except `<pad>` etc., which the official code can also draw."""
        size = len(self.vocabulary(language))
        return Substitutes(size, np.arange(len(SPECIALS), size), np.array([START, END]))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        longest, ends = self.recipe.text.max_length, self.settings.ends
        ids = self.vocabulary(language).encode(words, longest, ends)
        inner = ids[1:-1] if ends else ids
        read = tuple(words[: len(inner)])
        return read, tuple(w for w, i in zip(read, inner, strict=True) if i == UNKNOWN)

    def known_words(self, language: str) -> Sequence[str]:
        return self.vocabulary(language).words[len(SPECIALS) :]

    def in_positions(self, word: str) -> list[tuple[list[str], int]]:
        return [([word], 1 if self.settings.ends else 0)]


def _read(settings: TableEmbedderRecipe, vocabularies: Mapping[str, Vocabulary]) -> WordVectors:
    """Vectors of the vocabulary's words from the recipe's file."""
    every = {word for own in vocabularies.values() for word in own.words[len(SPECIALS) :]}
    found = vectors_of(str(settings.vectors), every)
    if found.dim != settings.word_dim:
        raise PolyglanceError(
            f"{settings.vectors}: the vectors have dimension {found.dim}, but the table's have "
            f"{settings.word_dim}; set text.embedder.word_dim={found.dim}"
        )
    return found
