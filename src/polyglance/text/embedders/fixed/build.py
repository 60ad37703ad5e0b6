"""Fixed word vectors of a recipe's languages, from files or trained on captions."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.data.dataset import Dataset, dataset_fingerprint
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe, VectorsEmbedderRecipe
from polyglance.storage.digest import json_digest
from polyglance.storage.files import cache_dir
from polyglance.text.vectors.corpus import caption_sentences
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.read import read_vectors, vector_file
from polyglance.text.vectors.word_vectors import (
    WordVectors,
    mean_row,
    normalise_rows,
    prepare_vectors,
    save_vectors,
)

VERSION = 1
"""Increased when cached vectors trained on captions become invalid."""


@dataclass(frozen=True)
class LanguageWords:
    """A language's known words, with unit vectors [n, D].

    With `subwords`, the fastText model in `file`, any other word has a vector, too. `mean` [D] was
    subtracted from the vectors. `translated` is whether the language has a translator.
    """

    words: list[str]
    matrix: np.ndarray
    mean: np.ndarray | None = None
    subwords: SubwordVectors | None = None
    file: str | None = None
    translated: bool = False


@dataclass(frozen=True)
class VectorSource:
    """Where the fixed vectors of languages come from.

    Args:
        settings: of the recipe's embedder; without a folder, vectors are trained on captions.
        tokenizer: name of the tokenizer.
        dataset: source of the captions, of training images and text-only ones.
        cache: folder of cached vectors.
    """

    settings: VectorsEmbedderRecipe
    tokenizer: str = "words"
    dataset: Dataset | None = None
    cache: Path | None = None

    @classmethod
    def of(
        cls, recipe: TextRecipe, dataset: Dataset | None, cache: Path | None = None
    ) -> "VectorSource":
        """The source for a recipe with fixed vectors.

        Args:
            recipe: of the text, with an embedder of fixed vectors.
            dataset: source of captions to train vectors on.
            cache: folder of cached vectors.
        """
        assert isinstance(recipe.embedder, VectorsEmbedderRecipe)
        return cls(recipe.embedder, recipe.tokenizer, dataset, cache)

    def words(
        self, language: str, words: Collection[str] = (), translated: bool = False
    ) -> LanguageWords:
        """A language's most frequent words and `words`, with vectors.

        Args:
            language: of the words.
            words: to include as well, from the training captions.
            translated: whether the language has a translator.
        """
        settings, path = self.settings, self._file(language)
        found, subwords = _read(path, words, settings.known)
        if found.dim != settings.word_dim:
            raise PolyglanceError(
                f"{path}: has vectors of dimension {found.dim}, but text.embedder.word_dim is "
                f"{settings.word_dim}; set text.embedder.word_dim={found.dim}"
            )
        frequent = normalise_rows(found.matrix[: settings.known])
        mean = mean_row(frequent) if settings.centre else None
        file = None if subwords is None else str(path.absolute())
        matrix = prepare_vectors(found.matrix, mean)
        return LanguageWords(found.words, matrix, mean, subwords, file, translated)

    def _file(self, language: str) -> Path:
        if self.settings.vectors is not None:
            folder = Path(self.settings.vectors).expanduser()
            return vector_file(folder, language, "text.embedder.vectors")
        if self.dataset is None:
            raise PolyglanceError(f"no vectors of '{language}': set them with --vectors")
        return self._trained(self.dataset, language)

    def _trained(self, dataset: Dataset, language: str) -> Path:
        """The file of vectors trained on captions, from the cache or trained now."""
        how, dim = self.settings.trained, self.settings.word_dim
        about = [VERSION, how, dim, self.tokenizer, language]
        key = json_digest({"about": about, "data": dataset_fingerprint(dataset)})[:24]
        ending = "vec" if how == "cooccurrence" else "bin"
        path = cache_dir(self.cache) / "vectors" / f"{language}-{key}.{ending}"
        if path.is_file():
            return path
        sentences = caption_sentences(dataset, [language], tokenizer=self.tokenizer)[language]
        if how == "cooccurrence":
            from polyglance.text.vectors.cooccurrence import cooccurrence_vectors

            vectors = cooccurrence_vectors(sentences, dim)
            save_vectors(path, vectors.words, vectors.matrix)
        else:
            from polyglance.text.vectors.skipgram import VectorSettings, train_vectors

            train_vectors(sentences, VectorSettings(dim=dim)).save(path)
        return path


def _read(
    path: Path, words: Collection[str], known: int
) -> tuple[WordVectors, SubwordVectors | None]:
    """The first `known` words of a file, and all of `words` that have a vector."""
    if path.suffix == ".bin":
        model = SubwordVectors.open(path)
        every = list(dict.fromkeys([*model.words[:known], *words]))
        return WordVectors(every, model.vectors(every)), model
    first = read_vectors(path, limit=known, lenient=True)
    missing = set(words) - set(first.words)
    if missing:
        rest = read_vectors(path, only=missing, lenient=True)
        matrix = np.concatenate([first.matrix, rest.matrix])
        first = WordVectors([*first.words, *rest.words], matrix)
    return first, None
