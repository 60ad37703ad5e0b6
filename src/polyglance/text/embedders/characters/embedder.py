"""Word vectors from characters: LIWE and charGRU (Wehrmann et al. 2019, §3.1 and §4)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import (
    CharacterEmbedderRecipe,
    CharGruEmbedderRecipe,
    LiweEmbedderRecipe,
    Recipe,
)
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
from polyglance.text.embedders.characters.alphabet import SPECIALS as CHARACTERS
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.forms import FIRST, LAST, Form, FormTable, forms_of
from polyglance.text.embedders.characters.known_vectors import load_words, save_words, vectors_of
from polyglance.text.embedders.encoded import FIRST_UNSEEN, EncodedTexts, Unseen
from polyglance.text.embedders.vocabulary import END, SPECIALS, START, UNKNOWN
from polyglance.text.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from polyglance.text.embedders.characters.layer import CharacterLayer
    from polyglance.text.embedders.characters.networks import CharacterNetwork

FILE = "alphabet.json"


@register
class CharacterEmbedder(Embedder):
    """Word vectors from characters; only words without any known character are unknown.

    Args:
        recipe: of the whole model.
        tables: the alphabet and the forms trained on, under "" for all languages or per language.
        vectors: pretrained ones, used in addition to those from characters; None without.
    """

    variants = (LiweEmbedderRecipe, CharGruEmbedderRecipe)

    def __init__(
        self, recipe: Recipe, tables: Mapping[str, FormTable], vectors: WordVectors | None = None
    ) -> None:
        super().__init__(recipe)
        assert isinstance(recipe.text.embedder, CharacterEmbedderRecipe)
        self.settings = recipe.text.embedder
        self.tables, self.vectors = dict(tables), vectors

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "CharacterEmbedder":
        settings, words = recipe.text.embedder, texts.by_language()
        assert isinstance(settings, CharacterEmbedderRecipe)
        parts = {language: {language: own} for language, own in words.items()}
        if recipe.text.towers == "shared":
            parts = {"": words}
        tables = {name: _table(recipe, part) for name, part in parts.items()}
        vectors = None
        if settings.vectors is not None:
            every = {word for own in words.values() for caption in own for word in caption}
            vectors = vectors_of(settings.vectors, every)
        return cls(recipe, tables, vectors)

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> "CharacterEmbedder":
        settings = recipe.text.embedder
        assert isinstance(settings, CharacterEmbedderRecipe)
        # A block without combining marks.
        alphabet = Alphabet(chr(0x4E00 + i) for i in range(words - len(CHARACTERS)))
        vectors = None
        if settings.vectors is not None:
            vectors = WordVectors([], np.zeros((0, 300), np.float32))
        return cls(recipe, {"": FormTable(alphabet, settings.word_length)}, vectors)

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "CharacterEmbedder":
        settings = recipe.text.embedder
        assert isinstance(settings, CharacterEmbedderRecipe)
        value, where = read_json(folder / FILE), str(folder / FILE)
        tables: Any = value.get("tables") if isinstance(value, dict) else None
        if tables is None:
            tables = {"": value}
        if not isinstance(tables, dict) or ("" in tables) != (recipe.text.towers == "shared"):
            raise PolyglanceError(f"{where}: does not fit text.towers={recipe.text.towers}")
        alphabets = {name: Alphabet.from_json(own, where) for name, own in tables.items()}
        found = {name: FormTable(own, settings.word_length) for name, own in alphabets.items()}
        return cls(recipe, found, load_words(folder))

    def save(self, folder: Path) -> None:
        values = {name: table.alphabet.to_json() for name, table in self.tables.items()}
        write_json(folder / FILE, values.get("", {"tables": values}))
        if self.vectors is not None:
            save_words(self.vectors, folder)

    @property
    def towers(self) -> list[str]:
        return list(self.tables)

    def layer(self, tower: str = "") -> "CharacterLayer":
        from polyglance.text.embedders.characters.layer import CharacterLayer

        table = self.tables[tower]
        network = self._network(len(table.alphabet))
        if self.vectors is None:
            return CharacterLayer(network, table.characters)
        words = [*SPECIALS, *(form.word for form in table.forms)]
        return CharacterLayer(network, table.characters, self.vectors, self.vectors.rows(words))

    def _network(self, alphabet: int) -> "CharacterNetwork":
        from polyglance.text.embedders.characters.networks import CharGRU, Liwe

        settings = self.settings
        sizes = settings.word_dim, settings.char_dim, settings.word_length
        padded = self.recipe.compat.pad_statistics
        if isinstance(settings, LiweEmbedderRecipe):
            return Liwe(alphabet, settings.layers, *sizes, padded)
        return CharGRU(alphabet, *sizes, padded)

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        """Ids of the words' forms; forms not trained on are passed along with the call."""
        unseen: dict[tuple[int, Form], int] = {}
        longest, ends = self.recipe.text.max_length, self.settings.ends
        numbers = {id(table): number for number, table in enumerate(self.tables.values())}
        parts = []
        for found, language in zip(words, languages, strict=True):
            table = by_language(self.tables, language)
            get, number = table.ids.get, numbers[id(table)]
            ids = []
            for form in forms_of(found[:longest], ends):
                known = get(form)
                if known is None:
                    new = unseen.setdefault((number, form), len(unseen))
                    known = FIRST_UNSEEN + new
                ids.append(known)
            parts.append(ids)
        return EncodedTexts(Ragged.join(parts), unseen=self._unseen(list(unseen)))

    def _unseen(self, forms: Sequence[tuple[int, Form]]) -> Unseen | None:
        if not forms:
            return None
        owner = np.array([number for number, _ in forms])
        characters = np.zeros((len(forms), self.settings.word_length), np.int32)
        for number, table in enumerate(self.tables.values()):
            mine = np.flatnonzero(owner == number)
            characters[mine] = table.spell([forms[i][1] for i in mine.tolist()])
        columns = {"characters": characters}
        if self.vectors is not None:
            columns["rows"] = self.vectors.rows([form.word for _, form in forms])
        return Unseen(columns)

    def substitutes(self, language: str | None) -> Substitutes:
        """A word spelt `<unk>`, and any form of the training captions."""
        table = by_language(self.tables, language)
        words = np.arange(len(SPECIALS), len(table))
        return Substitutes(UNKNOWN, words, np.array([START, END]))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """The words that fit, and those without any known character."""
        reads = by_language(self.tables, language).alphabet.reads
        read = tuple(words[: self.recipe.text.max_length])
        return read, tuple(word for word in read if not reads(word))

    @property
    def positions(self) -> int:
        return (FIRST | LAST) + 1 if self.settings.ends else 1

    def in_positions(self, word: str) -> list[tuple[list[str], int]]:
        """Inside a caption, as the first, last, and only word."""
        if not self.settings.ends:
            return [([word], 0)]
        return [([word] * 3, 1), ([word] * 2, 0), ([word] * 2, 1), ([word], 0)]


def _table(recipe: Recipe, words: Mapping[str, Sequence[Sequence[str]]]) -> FormTable:
    settings = recipe.text.embedder
    assert isinstance(settings, CharacterEmbedderRecipe)
    data = settings.alphabet == "data"
    alphabet = Alphabet.build(words, settings.min_count) if data else Alphabet.lavse()
    longest, ends = recipe.text.max_length, settings.ends
    captions = (forms_of(one[:longest], ends) for own in words.values() for one in own)
    # Outer words first, as in version 0.1.0, so that sums over a batch round the same.
    forms = (form for own in captions for form in (*own[:1], *own[-1:], *own[1:-1]))
    return FormTable(alphabet, settings.word_length, forms)
