"""What a model reads with: words of a vocabulary, spelt words, or a pretrained encoder's pieces."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe
from polyglance.registry import nearest
from polyglance.text.embedders.vocabulary import Ragged

Words = tuple[str, ...]
T = TypeVar("T")


class Encoded(NamedTuple):
    """Ids of texts; `joined` [total] says which ids go on with the word before, if any can."""

    ids: Ragged
    joined: np.ndarray | None = None


class Substitutes(NamedTuple):
    """What a word may become in training: `mask`, or one of `words` [n]; `ends` are no words."""

    mask: int
    words: np.ndarray
    ends: np.ndarray


class Reader(ABC):
    """Texts → ids. A text comes with its words, which a reader of pieces has no need of."""

    @abstractmethod
    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Ids of the table under "" for all languages, or of each one's; `mask` counts it in."""

    @abstractmethod
    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Ids of texts, each by its language, laid end to end."""

    def keep(self) -> None:  # noqa: B027
        """Ids given so far stay valid for good."""

    def release(self) -> None:  # noqa: B027
        """Ids given since `keep` are not used any more: forget the words if they are many."""

    @abstractmethod
    def substitutes(self, language: str | None) -> Substitutes:
        """What words of a language may become."""

    @abstractmethod
    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """The words of a text that are read, and those of them that mean nothing to the model."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what it takes to read again into a model's folder."""


def by_language(tables: Mapping[str, T], language: str | None) -> T:
    """The table under "" for all languages, or that of `language`."""
    if "" in tables:
        return tables[""]
    if language is None:
        raise PolyglanceError(
            "this model has a tower for each language: say which language a text is in "
            f"(one of: {', '.join(tables)})"
        )
    if language not in tables:
        hint = nearest(language, list(tables))
        raise PolyglanceError(f"this model does not know the language '{language}'{hint}")
    return tables[language]
