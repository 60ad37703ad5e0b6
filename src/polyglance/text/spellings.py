"""Reading words by their characters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.files import read_json, write_json
from polyglance.recipes.schema import CharacterEmbedderRecipe, TextRecipe
from polyglance.text.alphabet import Alphabet
from polyglance.text.forms import has_ends
from polyglance.text.lexicon import Lexicon
from polyglance.text.reader import Encoded, Reader, Substitutes, Words, by_language
from polyglance.text.vocabulary import END, SPECIALS, START, UNKNOWN, Ragged
from polyglance.text.word_vectors import load_words, save_words, vectors_of

if TYPE_CHECKING:
    from polyglance.text.vectors import WordVectors

FILE = "alphabet.json"

KEPT_FORMS = 200_000
"""About 60 MB of words and their characters."""


class Spellings(Reader):
    """Lexicons of a model: one under "" for all languages, or one a language.

    Any word has an id, so none is unknown but those of characters that were never seen.
    """

    def __init__(
        self, lexicons: Mapping[str, Lexicon], vectors: "WordVectors | None" = None
    ) -> None:
        self.lexicons, self.vectors = dict(lexicons), vectors
        self._trained = {code: len(lexicon) for code, lexicon in self.lexicons.items()}
        self._kept = dict(self._trained)

    @classmethod
    def build(
        cls, recipe: TextRecipe, tokens: Mapping[str, Sequence[Sequence[str]]]
    ) -> "Spellings":
        """As the recipe says, from training tokens by language; they are in the lexicons."""
        parts = {code: {code: tokens[code]} for code in tokens}
        if recipe.towers == "shared":
            parts = {"": dict(tokens)}
        lexicons = {code: _lexicon(recipe, part) for code, part in parts.items()}
        vectors = None
        embedder = recipe.embedder
        assert isinstance(embedder, CharacterEmbedderRecipe)
        if embedder.vectors is not None:
            every = {word for one in tokens.values() for words in one for word in words}
            vectors = vectors_of(embedder.vectors, every)
        return cls(lexicons, vectors)

    def of(self, language: str | None) -> Lexicon:
        """The lexicon that reads `language`."""
        return by_language(self.lexicons, language)

    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Characters of each alphabet; a masked word is spelt `<unk>`, which is one of them."""
        return {code: len(lexicon.alphabet) for code, lexicon in self.lexicons.items()}

    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Ids of the words' forms, laid end to end."""
        if "" in self.lexicons:
            return Encoded(
                self.lexicons[""].encode_many(words, recipe.max_length, has_ends(recipe))
            )
        parts = [
            self.of(code).encode(found, recipe.max_length, has_ends(recipe))
            for found, code in zip(words, languages, strict=True)
        ]
        return Encoded(Ragged.join(parts))

    def keep(self) -> None:
        self._kept = {code: len(lexicon) for code, lexicon in self.lexicons.items()}

    def release(self) -> None:
        for code, lexicon in self.lexicons.items():
            if len(lexicon) > max(KEPT_FORMS, self._kept[code]):
                lexicon.forget(self._kept[code])

    def substitutes(self, language: str | None) -> Substitutes:
        """A word spelt `<unk>`, and any form of the training captions."""
        code = "" if "" in self.lexicons else str(language)
        words = np.arange(len(SPECIALS), self._trained[code])
        return Substitutes(UNKNOWN, words, np.array([START, END]))

    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """The words that fit, and those without any known character."""
        reads = self.of(language).alphabet.reads
        read = tuple(words[: recipe.max_length])
        return read, tuple(word for word in read if not reads(word))

    def save(self, folder: Path) -> None:
        """Write alphabet.json and, with pretrained vectors, their words."""
        values = {code: lexicon.alphabet.to_json() for code, lexicon in self.lexicons.items()}
        write_json(folder / FILE, values.get("", {"tables": values}))
        if self.vectors is not None:
            save_words(self.vectors, folder)

    @classmethod
    def load(cls, recipe: TextRecipe, folder: Path) -> "Spellings":
        """Read what `save` wrote."""
        value, where = read_json(folder / FILE), str(folder / FILE)
        tables: Any = value.get("tables") if isinstance(value, dict) else None
        if tables is None:
            tables = {"": value}
        if not isinstance(tables, dict) or ("" in tables) != (recipe.towers == "shared"):
            raise PolyglanceError(f"{where}: does not fit text.towers={recipe.towers}")
        alphabets = {code: Alphabet.from_json(v, where) for code, v in tables.items()}
        assert isinstance(recipe.embedder, CharacterEmbedderRecipe)
        length = recipe.embedder.word_length
        lexicons = {code: Lexicon(a, length) for code, a in alphabets.items()}
        return cls(lexicons, load_words(folder))


def _lexicon(recipe: TextRecipe, tokens: Mapping[str, Sequence[Sequence[str]]]) -> Lexicon:
    embedder = recipe.embedder
    assert isinstance(embedder, CharacterEmbedderRecipe)
    data = embedder.alphabet == "data"
    alphabet = Alphabet.build(tokens, embedder.min_count) if data else Alphabet.lavse()
    lexicon = Lexicon(alphabet, embedder.word_length)
    for captions in tokens.values():
        lexicon.encode_many(captions, recipe.max_length, has_ends(recipe))
    return lexicon
