"""The interface of embedders, which map words to ids and ids to vectors."""

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
LanguageTags = Sequence[str | None]
ReadWords = tuple[tuple[str, ...], tuple[str, ...]]
"""The words of a text that are read, and which of them are unknown to the model."""
ADDED = "added.json"
"""File with the words added to a trained model."""


class Substitutes(NamedTuple):
    """Ids that may replace a word in training: `mask`, or one of `words` [n]; never `ends`."""

    mask: int
    words: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True)
class TokenAssignment:
    """The latent token of every word, [n] per language, and the tokens' vectors [N, D]."""

    tokens: Mapping[str, np.ndarray]
    vectors: np.ndarray


AssignTokens = Callable[[Recipe, "Mapping[str, WordVectors]", "TrainingTexts"], TokenAssignment]


@dataclass(frozen=True)
class TrainingTexts:
    """The training captions, and whatever else an embedder is built from.

    Args:
        captions: their table; `words[i]` are the words of caption i.
        dataset: source of other texts to learn words from.
        assign_tokens: learns the latent token of each word (SMALR); passed in because it is a
            stage of training.
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
    """Maps words to vectors. A new one needs a subclass, a layer and a recipe variant.

    Embedders are immutable, so any number of threads may encode.
    """

    variants: ClassVar[tuple[type[EmbedderRecipe], ...]]
    """Its variants of `text.embedder`."""
    empty: ClassVar[int | None] = None
    """The id of a text without known words, if it has one."""
    reads_all: ClassVar[bool] = False
    """Whether it reads every language, also those that it was not trained on."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @classmethod  # noqa: B027  (most have nothing to check)
    def check(cls, recipe: Recipe) -> None:
        """Raise an error for anything that would stop a training, before it starts."""

    @classmethod
    @abstractmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> Self:
        """Build from training captions."""

    @classmethod
    @abstractmethod
    def load(cls, recipe: Recipe, folder: Path) -> Self:
        """Load from a model's folder."""

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> Self:
        """An embedder of this many placeholder words (or characters), for counting parameters."""
        kind = recipe.text.embedder.kind
        raise PolyglanceError(f"the size of embedder '{kind}' depends on its files")

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Save to a model's folder."""

    @abstractmethod
    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        """Ids of texts.

        Args:
            texts: as written, for embedders with their own tokenization.
            words: the words of each text.
            languages: the language of each text, or None if unknown.
        """

    @property
    @abstractmethod
    def towers(self) -> list[str]:
        """The text towers with separate words: languages, or "" for a single tower."""

    @abstractmethod
    def layer(self, tower: str = "") -> "WordLayer":
        """A new layer that maps ids to vectors, for one of the towers."""

    def layers(self) -> "Iterator[tuple[str, WordLayer]]":
        """The layers of all towers."""
        for tower in self.towers:
            yield tower, self.layer(tower)

    def added_rows(self, tower: str, dim: int) -> "AddedRows | None":
        """The table, of dimension `dim`, of words added to a trained model, if any."""
        return None

    @property
    def pivots(self) -> dict[str, str]:
        """Added language → the language whose tower reads it."""
        return {}

    @abstractmethod
    def substitutes(self, language: str | None) -> Substitutes:
        """The ids that may replace words of a language in training."""

    @abstractmethod
    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """The words of a text that are read, and which of them are unknown to the model."""

    def split(self, texts: Texts, languages: Languages) -> tuple[Texts, Words]:
        """The texts as `encode` takes them, and the words of each."""
        return read_words(self.recipe.text, texts, languages)

    def read(self, texts: Texts, language: str | None) -> list[ReadWords]:
        """The words of each text, and which of them are unknown to the model.

        Punctuation is ignored.

        Args:
            texts: as written.
            language: of all texts, or None if unknown.
        """
        tokens = self.split(texts, language)[1]
        words = ([token for token in found if has_word(token)] for found in tokens)
        return [self.unknown(found, language) if found else ((), ()) for found in words]

    def known_words(self, language: str) -> Sequence[str] | None:
        """Words of a language, most frequent first; None if there is no vocabulary."""
        return None

    def common_words(self, languages: Sequence[str]) -> dict[str, float]:
        """Known words of these languages → their log-probability by Zipf's law."""
        found: dict[str, float] = {}
        for language in languages:
            for rank, word in enumerate(self.known_words(language) or (), 1):
                found[word] = max(found.get(word, -math.inf), -math.log(rank))
        return found

    def log_probability(self, word: str) -> float:
        """Log-probability of a word without an id, from its subwords; minus infinity if unknown."""
        return -math.inf

    def token_sharing(self) -> dict[str, float]:
        """Statistics of how languages share latent tokens, for reports; empty if there are none."""
        return {}

    def count_words(self, language: str) -> int:
        """Number of words of a language with their own vectors."""
        return len(self.known_words(language) or ())

    def pivot_languages(self, languages: Sequence[str]) -> list[str]:
        """Those of a model's languages that can be the pivot of a new one."""
        return list(languages)

    def add_words(self, language: str, words: Sequence[str], pivot: str) -> "Embedder":
        """An embedder with the words of a new language in addition.

        Args:
            language: the new language.
            words: its words.
            pivot: the model's language whose tower reads them.
        """
        return embedders.get("added").wrap(self, language, words, pivot)

    @classmethod
    def wrap(cls, base: "Embedder", language: str, words: Sequence[str], pivot: str) -> "Embedder":
        """Wrap another embedder, adding the words of a new language.

        Args:
            base: the embedder of the other languages.
            language: the new language.
            words: its words.
            pivot: the model's language whose tower reads them.
        """
        raise TypeError("only AddedEmbedder wraps others")

    @property
    def positions(self) -> int:
        """Vectors per added word: more than one if its position in the caption matters."""
        return 1

    def in_positions(self, word: str) -> list[tuple[list[str], int]]:
        """(sentence, index of the word's id in it) for each position."""
        return [([word], 0)]

    def portable(self) -> "Embedder":
        """A version that saves no vectors, for use where these are stored elsewhere."""
        return self

    def compact(self) -> "Embedder":
        """A version for deployment, with stored vectors."""
        raise PolyglanceError(
            f"a model of text.embedder.kind={self.recipe.text.embedder.kind} cannot be "
            "compacted; only those with universal words can (mule, smalr, …)"
        )


embedders: Registry[type[Embedder]] = Registry("embedder")
"""By `text.embedder.kind`."""


def register(embedder: type[Embedder]) -> type[Embedder]:
    """Register an embedder for its variants, and make these valid in recipes."""
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
            "this model has separate words for each language: state the language of the text "
            f"(one of: {', '.join(tables)})"
        )
    if language not in tables:
        hint = nearest(language, list(tables))
        raise PolyglanceError(f"this model does not know the language '{language}'{hint}")
    return tables[language]


def build_embedder(recipe: Recipe, texts: TrainingTexts) -> Embedder:
    """Build an embedder from training captions."""
    return embedders.get(recipe.text.embedder.kind).build(recipe, texts)


def load_embedder(recipe: Recipe, folder: Path) -> Embedder:
    """The embedder of a saved model."""
    kind = "added" if (folder / ADDED).is_file() else recipe.text.embedder.kind
    return embedders.get(kind).load(recipe, folder)
