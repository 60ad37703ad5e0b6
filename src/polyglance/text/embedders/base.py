"""What every embedder is: how the words of texts become ids, and the ids become vectors."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from polyglance.core.registry import Registry, nearest
from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import EmbedderRecipe, Recipe, kind_of
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.tokenizers.base import Languages, has_word, read_words

if TYPE_CHECKING:
    from polyglance.text.embedders.layer import AddedRows, WordLayer
    from polyglance.text.vectors.word_vectors import WordVectors

T = TypeVar("T")
Texts = Sequence[str]
Words = Sequence[Sequence[str]]
Codes = Sequence[str | None]
ReadWords = tuple[tuple[str, ...], tuple[str, ...]]
"""The words of a text that are read, and those of them that mean nothing to a model."""
ADDED = "added.json"
"""The file of words that were added to a trained model."""


class Substitutes(NamedTuple):
    """What a word may become in training: `mask`, or one of `words` [n]; `ends` are no words."""

    mask: int
    words: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True)
class TokenAssignment:
    """The latent token of every word, [n] by language, and the tokens' vectors [N, D]."""

    tokens: Mapping[str, np.ndarray]
    vectors: np.ndarray


AssignTokens = Callable[[Recipe, "Mapping[str, WordVectors]", "TrainingTexts"], TokenAssignment]


@dataclass(frozen=True)
class TrainingTexts:
    """The captions that a model will be trained on, and what else an embedder is built from.

    Args:
        captions: their table; `words[i]` are the words of caption i.
        dataset: where other texts to learn words from come from.
        assign_tokens: learns which latent token each word becomes; a stage of training, which is
            why it is given (SMALR).
    """

    captions: CaptionTable
    words: Sequence[Sequence[str]]
    dataset: Dataset | None = None
    cache: Path | None = None
    show_progress: bool | None = None
    assign_tokens: AssignTokens | None = None

    def by_language(self) -> dict[str, list[Sequence[str]]]:
        """Words of the captions of each language."""
        found: dict[str, list[Sequence[str]]] = {}
        for language, words in zip(self.captions.languages, self.words, strict=True):
            found.setdefault(language, []).append(words)
        return found


class Embedder(ABC):
    """How words become vectors. A new one costs this class, a layer, and a recipe variant.

    An embedder never changes: reading is pure, and any number of threads may encode.
    """

    variants: ClassVar[tuple[type[EmbedderRecipe], ...]]
    """The variants of `text.embedder` that mean it."""
    empty: ClassVar[int | None] = None
    """The id of a text without any known word, where there is one."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @classmethod  # noqa: B027  (most have nothing to check)
    def check(cls, recipe: Recipe) -> None:
        """Raise for what would stop a training, before anything is computed."""

    @classmethod
    @abstractmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> Self:
        """From the captions that a model will be trained on."""

    @classmethod
    @abstractmethod
    def load(cls, recipe: Recipe, folder: Path) -> Self:
        """From what `save` wrote into a model's folder."""

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> Self:
        """One of so many nameless words (or characters), to count parameters with."""
        kind = recipe.text.embedder.kind
        raise PolyglanceError(f"the size of embedder '{kind}' depends on its files")

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what it takes to read again into a model's folder."""

    @abstractmethod
    def encode(self, texts: Texts, words: Words, languages: Codes) -> EncodedTexts:
        """Ids of texts, each by its language.

        Args:
            texts: as they are written, for embedders that cut them up themselves.
            words: the words of each text.
            languages: the language of each text; None where it is not known.
        """

    @property
    @abstractmethod
    def towers(self) -> list[str]:
        """The text towers that have words of their own: languages, or "" for one tower."""

    @abstractmethod
    def layer(self, tower: str = "") -> "WordLayer":
        """A fresh layer from ids to vectors, for one of the towers."""

    def layers(self) -> "Iterator[tuple[str, WordLayer]]":
        """The layers of all towers."""
        for tower in self.towers:
            yield tower, self.layer(tower)

    def added_rows(self, tower: str, dim: int) -> "AddedRows | None":
        """Vectors of dimension `dim` of words added to a trained model, beside its layer's."""
        return None

    @property
    def pivots(self) -> dict[str, str]:
        """Of an added language, the language whose tower reads it."""
        return {}

    @abstractmethod
    def substitutes(self, language: str | None) -> Substitutes:
        """What words of a language may become in training."""

    @abstractmethod
    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """The words of a text that are read, and those of them that mean nothing to the model."""

    def split(self, texts: Texts, languages: Languages) -> tuple[Texts, Words]:
        """The texts as `encode` takes them, and the words of each; none in a text without any."""
        return read_words(self.recipe.text, texts, languages)

    def read(self, texts: Texts, language: str | None) -> list[ReadWords]:
        """The words of each text, and those of them that mean nothing to the model.

        Tokens of punctuation are no words: it is no matter whether a model knows them.

        Args:
            texts: as they are written.
            language: of all of them; None where it is not known.
        """
        tokens = self.split(texts, language)[1]
        words = ([token for token in found if has_word(token)] for found in tokens)
        return [self.unknown(found, language) if found else ((), ()) for found in words]

    def known_words(self, language: str) -> Sequence[str] | None:
        """Words of a language, most frequent first; None where any word is read."""
        return None

    def common_words(self, languages: Sequence[str]) -> dict[str, float]:
        """Words that have ids of their own → the logarithm of their probability, by Zipf's law.

        Args:
            languages: whose words.
        """
        found: dict[str, float] = {}
        for language in languages:
            for rank, word in enumerate(self.known_words(language) or (), 1):
                found[word] = max(found.get(word, -math.inf), -math.log(rank))
        return found

    def log_probability(self, word: str) -> float:
        """Of a word that has no id of its own, read in parts; minus infinity if it is not read."""
        return -math.inf

    def token_sharing(self) -> dict[str, float]:
        """How far languages share latent tokens, as runs report it; empty where there are none."""
        return {}

    def count_words(self, language: str) -> int:
        """Words of a language that have vectors of their own."""
        return len(self.known_words(language) or ())

    def pivot_languages(self, languages: Sequence[str]) -> list[str]:
        """Those of a model's languages that another one can be brought to."""
        return list(languages)

    def add_words(self, language: str, words: Sequence[str], pivot: str) -> "Embedder":
        """An embedder with the words of a new language, whose vectors stand beside the others.

        Args:
            language: the new language.
            words: its words.
            pivot: the model's language whose tower reads them.
        """
        return embedders.get("added").wrap(self, language, words, pivot)

    @classmethod
    def wrap(cls, base: "Embedder", language: str, words: Sequence[str], pivot: str) -> "Embedder":
        """An embedder around another, with the words of a new language.

        Args:
            base: the embedder of the other languages.
            language: the new language.
            words: its words.
            pivot: the model's language whose tower reads them.
        """
        raise TypeError("only AddedEmbedder wraps others")

    @property
    def places(self) -> int:
        """Vectors of an added word: more than one where its place in the caption matters."""
        return 1

    def in_places(self, word: str) -> list[tuple[list[str], int]]:
        """(a sentence, which of its ids is the word's) for each of the places."""
        return [([word], 0)]

    def portable(self) -> "Embedder":
        """What reads texts and saves no vectors, where these are stored elsewhere."""
        return self

    def compact(self) -> "Embedder":
        """The deployed form: vectors stored, not computed."""
        raise PolyglanceError(
            f"a model of text.embedder.kind={self.recipe.text.embedder.kind} has nothing to "
            "compact; those of universal words do (mule, smalr, …)"
        )


embedders: Registry[type[Embedder]] = Registry("embedder")
"""By `text.embedder.kind`."""


def register(embedder: type[Embedder]) -> type[Embedder]:
    """Make an embedder the one of its variants, and the variants valid in recipes."""
    for variant in embedder.variants:
        embedders.register(kind_of(variant))(embedder)
        EmbedderRecipe.add(variant)
    return embedder


def by_language(tables: Mapping[str, T], language: str | None) -> T:
    """The table under "" for all languages, or that of `language`."""
    if "" in tables:
        return tables[""]
    if language is None:
        raise PolyglanceError(
            "this model has words of each language: say which language a text is in "
            f"(one of: {', '.join(tables)})"
        )
    if language not in tables:
        hint = nearest(language, list(tables))
        raise PolyglanceError(f"this model does not know the language '{language}'{hint}")
    return tables[language]


def build_embedder(recipe: Recipe, texts: TrainingTexts) -> Embedder:
    """A fresh embedder, from the captions that a model will be trained on."""
    return embedders.get(recipe.text.embedder.kind).build(recipe, texts)


def load_embedder(recipe: Recipe, folder: Path) -> Embedder:
    """The embedder of a saved model."""
    kind = "added" if (folder / ADDED).is_file() else recipe.text.embedder.kind
    return embedders.get(kind).load(recipe, folder)
