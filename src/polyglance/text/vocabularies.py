"""One vocabulary for all languages, or one for each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe
from polyglance.registry import nearest
from polyglance.text.vocabulary import Ragged, Vocabulary


class Vocabularies:
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
        if recipe.towers == "per-language":
            return cls(Vocabulary.build_tables(tokens, recipe.threshold))
        return cls({"": Vocabulary.build(tokens, recipe.threshold, recipe.scope)})

    @property
    def shared(self) -> bool:
        """Whether all languages have one vocabulary."""
        return "" in self.tables

    def of(self, language: str | None) -> Vocabulary:
        """The vocabulary that reads `language`."""
        if self.shared:
            return self.tables[""]
        if language is None:
            raise PolyglanceError(
                "this model has a tower for each language: say which language a text is in "
                f"(one of: {', '.join(self.tables)})"
            )
        if language not in self.tables:
            hint = nearest(language, list(self.tables))
            raise PolyglanceError(f"this model does not know the language '{language}'{hint}")
        return self.tables[language]

    def sizes(self) -> dict[str, int]:
        """Words of each table."""
        return {code: len(table) for code, table in self.tables.items()}

    def encode(
        self, recipe: TextRecipe, tokens: Sequence[Sequence[str]], languages: Sequence[str | None]
    ) -> Ragged:
        """Ids of token lists, each by its language's vocabulary, laid end to end."""
        if self.shared:
            return self.tables[""].encode_many(tokens, recipe.max_length, recipe.ends)
        parts = [
            self.of(code).encode(found, recipe.max_length, recipe.ends)
            for found, code in zip(tokens, languages, strict=True)
        ]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        flat = np.fromiter((i for part in parts for i in part), np.int32, int(offsets[-1]))
        return Ragged(flat, offsets)

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
