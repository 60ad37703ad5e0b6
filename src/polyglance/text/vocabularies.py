"""One vocabulary for all languages, or one for each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.files import read_json, write_json
from polyglance.recipes.schema import TableEmbedderRecipe, TextRecipe
from polyglance.text.forms import has_ends
from polyglance.text.reader import Encoded, Reader, Substitutes, Words, by_language
from polyglance.text.vocabulary import END, SPECIALS, START, UNKNOWN, Ragged, Vocabulary

FILE = "vocabulary.json"


class Vocabularies(Reader):
    """The vocabularies of a model: `tables` has one under "" for all, or one a language.

    >>> shared = Vocabularies({"": Vocabulary(["a"])})
    >>> len(shared.of("de"))
    5
    """

    def __init__(self, tables: Mapping[str, Vocabulary]) -> None:
        self.tables = dict(tables)

    @classmethod
    def build(
        cls, recipe: TextRecipe, tokens: Mapping[str, Sequence[Sequence[str]]]
    ) -> "Vocabularies":
        """As the recipe says, from training tokens by language."""
        embedder = recipe.embedder
        assert isinstance(embedder, TableEmbedderRecipe)
        if recipe.towers == "per-language":
            return cls(Vocabulary.build_tables(tokens, embedder.min_count))
        return cls({"": Vocabulary.build(tokens, embedder.min_count, embedder.scope)})

    @property
    def shared(self) -> bool:
        """Whether all languages have one vocabulary."""
        return "" in self.tables

    def of(self, language: str | None) -> Vocabulary:
        """The vocabulary that reads `language`."""
        return by_language(self.tables, language)

    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Words of each table; `<mask>` is one more behind them."""
        return {code: len(table) + mask for code, table in self.tables.items()}

    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Ids of the words, each by its language's vocabulary, laid end to end."""
        if self.shared:
            return Encoded(self.tables[""].encode_many(words, recipe.max_length, has_ends(recipe)))
        parts = [
            self.of(code).encode(found, recipe.max_length, has_ends(recipe))
            for found, code in zip(words, languages, strict=True)
        ]
        return Encoded(Ragged.join(parts))

    def substitutes(self, language: str | None) -> Substitutes:
        """`<mask>`, and any word but `<pad>` and its like, which official code can draw too."""
        size = len(self.of(language))
        return Substitutes(size, np.arange(len(SPECIALS), size), np.array([START, END]))

    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """The words that fit, and those of them that are not in the language's vocabulary."""
        ids = self.of(language).encode(words, recipe.max_length, has_ends(recipe))
        inner = ids[1:-1] if has_ends(recipe) else ids
        read = tuple(words[: len(inner)])
        return read, tuple(w for w, i in zip(read, inner, strict=True) if i == UNKNOWN)

    def save(self, folder: Path) -> None:
        """Write vocabulary.json."""
        write_json(folder / FILE, self.to_json())

    @classmethod
    def load(cls, folder: Path) -> "Vocabularies":
        """Read vocabulary.json."""
        return cls.from_json(read_json(folder / FILE), str(folder / FILE))

    def to_json(self) -> dict[str, Any]:
        """A JSON value from which `from_json` restores them."""
        if self.shared:
            return self.tables[""].to_json()
        return {"tables": {code: table.to_json() for code, table in self.tables.items()}}

    @classmethod
    def from_json(cls, value: Any, where: str = "vocabulary") -> "Vocabularies":
        """The inverse of `to_json`; `where` names the file in the error."""
        if isinstance(value, dict) and isinstance(value.get("tables"), dict):
            tables = value["tables"].items()
            return cls({code: Vocabulary.from_json(v, f"{where}, {code}") for code, v in tables})
        return cls({"": Vocabulary.from_json(value, where)})
