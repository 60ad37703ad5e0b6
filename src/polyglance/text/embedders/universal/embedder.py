"""Closed vocabularies, one a language, whose words are tokens of one numbering (MULE, SMALR)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.files import read_json, write_json
from polyglance.recipes.schema import TextRecipe
from polyglance.text.embedders.base import Encoded, Reader, Substitutes, Words, by_language
from polyglance.text.embedders.vocabulary import Ragged

FILE = "vocabulary.json"
NOTHING = 0
"""The token of a text without any known word; its vector is 0."""


@dataclass(frozen=True)
class Layout:
    """How tokens are numbered: `NOTHING`, `latent` shared ones, then each language's own.

    >>> Layout(2, {"de": 3, "en": 1}).own_ranges
    {'de': (3, 6), 'en': (6, 7)}
    """

    latent: int
    own: Mapping[str, int]

    @property
    def own_ranges(self) -> dict[str, tuple[int, int]]:
        """First token of each language's own, and the one after its last."""
        ranges, start = {}, 1 + self.latent
        for code, count in self.own.items():
            ranges[code] = (start, start + count)
            start += count
        return ranges

    @property
    def total(self) -> int:
        """All tokens with `NOTHING`; a mask, where there is one, has this number."""
        return 1 + self.latent + sum(self.own.values())


@dataclass(frozen=True)
class Start:
    """First vectors of tokens: those of languages' own [n, dim], and latent ones [m, size]."""

    own: Mapping[str, np.ndarray] = field(default_factory=dict)
    latent: np.ndarray | None = None


class ClosedVocabularies(Reader):
    """Words of every language → tokens; unknown words are dropped (spec §5.2).

    Several words may be one token: latent ones, or a word of the language that rare words are
    translated to. `start` is known while training only.
    """

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, int]],
        layout: Layout,
        start: Start | None = None,
    ) -> None:
        self.tables, self.layout, self.start = dict(tables), layout, start

    def of(self, language: str | None) -> Mapping[str, int]:
        """word → token of a language, which may be left out where there is one only."""
        if language is None and len(self.tables) == 1:
            return next(iter(self.tables.values()))
        return by_language(self.tables, language)

    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Tokens of all languages together."""
        return {"": self.layout.total + mask}

    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Tokens of the known words, laid end to end; of a text without any, `NOTHING`."""
        parts = []
        for found, code in zip(words, languages, strict=True):
            table = self.of(code)
            known = [table[word] for word in found if word in table]
            parts.append(known[: recipe.max_length] or [NOTHING])
        return Encoded(Ragged.join(parts))

    def substitutes(self, language: str | None) -> Substitutes:
        """The mask, and any word of the language."""
        words = np.array(sorted(set(self.of(language).values())), np.int64)
        return Substitutes(self.layout.total, words, np.empty(0, np.int64))

    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """The words, and those of them that are dropped."""
        table = self.of(language)
        return tuple(words), tuple(word for word in words if word not in table)

    def save(self, folder: Path) -> None:
        """Write vocabulary.json."""
        tables = {
            code: {"words": list(table), "tokens": list(table.values())}
            for code, table in self.tables.items()
        }
        layout = {"latent": self.layout.latent, "own": dict(self.layout.own)}
        write_json(folder / FILE, {**layout, "tables": tables})

    @classmethod
    def load(cls, folder: Path) -> "ClosedVocabularies":
        """Read vocabulary.json."""
        value, where = read_json(folder / FILE), str(folder / FILE)
        fields = value if isinstance(value, dict) else {}
        latent, own, tables = (fields.get(name) for name in ("latent", "own", "tables"))
        if not isinstance(own, dict) or not _counts([latent, *own.values()]):
            raise PolyglanceError(f"{where}: fields 'latent' and 'own' must be numbers of tokens")
        if not isinstance(tables, dict) or not tables:
            raise PolyglanceError(f"{where}: field 'tables' must hold words by language")
        layout = Layout(int(latent or 0), own)
        read = {code: _table(one, layout, f"{where}, {code}") for code, one in tables.items()}
        return cls(read, layout)


def _counts(values: Iterable[Any]) -> bool:
    return all(type(value) is int and value >= 0 for value in values)


def _table(value: Any, layout: Layout, where: str) -> dict[str, int]:
    fields = value if isinstance(value, dict) else {}
    words, tokens = fields.get("words"), fields.get("tokens")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise PolyglanceError(f"{where}: field 'words' must be a list of words")
    if (
        not isinstance(tokens, list)
        or len(tokens) != len(words)
        or not _counts(tokens)
        or max(tokens, default=0) >= layout.total
    ):
        raise PolyglanceError(f"{where}: field 'tokens' must have a token for each of the words")
    return dict(zip(words, tokens, strict=True))
