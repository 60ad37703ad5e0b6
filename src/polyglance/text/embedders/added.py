"""Languages added to a trained model, with their own words and vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe
from polyglance.storage.files import read_json, write_json
from polyglance.text.embedders.base import (
    ADDED,
    Embedder,
    LanguageTags,
    ReadWords,
    Substitutes,
    Texts,
    TrainingTexts,
    Words,
    embedders,
)
from polyglance.text.embedders.encoded import FIRST_ADDED, EncodedTexts
from polyglance.text.embedders.vocabulary import END, PAD, START
from polyglance.text.inflection import InflectionIndex

if TYPE_CHECKING:
    from polyglance.text.embedders.layer import AddedRows, WordLayer


@dataclass(frozen=True)
class AddedLanguage:
    """Words of a language, and its pivot: the model's language that they were aligned with.

    >>> AddedLanguage(("hond", "huis"), "en").find("honden")
    0
    """

    words: tuple[str, ...]
    pivot: str

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    @cached_property
    def _inflections(self) -> InflectionIndex:
        return InflectionIndex(self.words)

    def find(self, word: str) -> int | None:
        """Index of the word, or of the one it is likely an inflection of, or None."""
        found = self._inflections.find(word)
        return None if found is None else self._index[found]


@embedders.register("added")
class AddedEmbedder(Embedder):
    """A model's embedder, and the vocabularies of languages added later.

    Texts in an added language, which must be stated, have ids from `FIRST_ADDED` on; their unknown
    words are dropped. Other texts are encoded as before.
    """

    variants = ()

    def __init__(self, base: Embedder, added: Mapping[str, AddedLanguage]) -> None:
        super().__init__(base.recipe)
        self.base, self.added = base, dict(added)
        self.empty = base.empty  # type: ignore[misc]
        self.first: dict[str, int] = {}
        total = FIRST_ADDED
        for language, own in self.added.items():
            self.first[language] = total
            total += self.positions * len(own.words)

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "AddedEmbedder":
        raise TypeError("languages are added to a trained model: see add_words")

    @classmethod
    def wrap(cls, base: Embedder, language: str, words: Sequence[str], pivot: str) -> Embedder:
        return cls(base, {language: AddedLanguage(tuple(words), pivot)})

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "AddedEmbedder":
        base = embedders.get(recipe.text.embedder.kind).load(recipe, folder)
        value: Any = read_json(folder / ADDED)
        try:
            added = {
                language: AddedLanguage(tuple(one["words"]), one["pivot"])
                for language, one in value["languages"].items()
            }
        except (KeyError, TypeError, AttributeError, ValueError):
            raise PolyglanceError(
                f"{folder / ADDED}: needs 'languages' with words and pivot"
            ) from None
        return cls(base, added)

    def save(self, folder: Path) -> None:
        """Write the files of the base embedder, and added.json."""
        self.base.save(folder)
        described = {
            language: {"pivot": own.pivot, "words": list(own.words)}
            for language, own in self.added.items()
        }
        write_json(folder / ADDED, {"forms": self.positions, "languages": described})

    def portable(self) -> "AddedEmbedder":
        return AddedEmbedder(self.base.portable(), self.added)

    @property
    def towers(self) -> list[str]:
        return self.base.towers

    def layer(self, tower: str = "") -> "WordLayer":
        return self.base.layer(tower)

    def added_rows(self, tower: str, dim: int) -> "AddedRows | None":
        from polyglance.text.embedders.layer import AddedRows

        codes = [code for code, own in self.added.items() if tower in ("", own.pivot)]
        if not codes:
            return None
        sizes = {code: self.positions * len(self.added[code].words) for code in codes}
        ranges = {code: (self.first[code], size) for code, size in sizes.items()}
        return AddedRows(ranges, dim)

    @property
    def pivots(self) -> dict[str, str]:
        return {code: own.pivot for code, own in self.added.items()}

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        if not set(languages) & set(self.added):
            return self.base.encode(texts, words, languages)
        old = [row for row, language in enumerate(languages) if language not in self.added]
        known = self.base.encode(
            [texts[i] for i in old], [words[i] for i in old], [languages[i] for i in old]
        )
        found = {row: known.ids[i].tolist() for i, row in enumerate(old)}
        for row, language in enumerate(languages):
            if language in self.added:
                found[row] = self._ids(words[row], str(language))
        ids = Ragged.join([found[row] for row in range(len(languages))])
        return EncodedTexts(ids, unseen=known.unseen)

    def _ids(self, words: Sequence[str], language: str) -> list[int]:
        find, first, positions = self.added[language].find, self.first[language], self.positions
        known = [number for number in map(find, words) if number is not None]
        # <start> and <end> are ids of a table, characters of words, or not used.
        ends = getattr(self.recipe.text.embedder, "ends", False) and positions == 1
        known = known[: self.recipe.text.max_length - (2 if ends else 0)]
        last = len(known) - 1
        ids = [
            first + positions * number + ((place == 0) + 2 * (place == last)) % positions
            for place, number in enumerate(known)
        ]
        return [START, *ids, END] if ends else ids or [PAD]

    def substitutes(self, language: str | None) -> Substitutes:
        """Those of the base embedder; for an added language, any of its words and no mask."""
        if language not in self.added:
            return self.base.substitutes(language)
        first = self.first[str(language)]
        count = self.positions * len(self.added[str(language)].words)
        return Substitutes(PAD, np.arange(first, first + count), np.array([START, END]))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        if language not in self.added:
            return self.base.unknown(words, language)
        find = self.added[str(language)].find
        return tuple(words), tuple(word for word in words if find(word) is None)

    def known_words(self, language: str) -> Sequence[str] | None:
        if language in self.added:
            return self.added[language].words
        return self.base.known_words(language)

    def add_words(self, language: str, words: Sequence[str], pivot: str) -> "AddedEmbedder":
        return AddedEmbedder(
            self.base, {**self.added, language: AddedLanguage(tuple(words), pivot)}
        )

    @property
    def positions(self) -> int:
        return self.base.positions

    def in_positions(self, word: str) -> list[tuple[list[str], int]]:
        return self.base.in_positions(word)

    def compact(self) -> Embedder:
        raise PolyglanceError(
            f"'add-language' added {', '.join(self.added)} to this model; compact the original "
            "model, and add the language to the compact one"
        )
