"""Fixed word vectors of a recipe's languages: from files, or made from captions."""

from collections.abc import Collection
from pathlib import Path

from polyglance.data.dataset import Dataset
from polyglance.data.fingerprint import dataset_fingerprint
from polyglance.digest import json_digest
from polyglance.errors import PolyglanceError
from polyglance.files import cache_dir
from polyglance.recipes.schema import TextRecipe
from polyglance.text.corpus import caption_sentences
from polyglance.text.subwords import SubwordVectors
from polyglance.text.vector_words import LanguageWords
from polyglance.text.vectors import (
    WordVectors,
    mean_row,
    normalise_rows,
    read_vectors,
    vector_file,
)

VERSION = 1
"""Raised when vectors made from captions change."""


def language_words(
    recipe: TextRecipe,
    dataset: Dataset | None,
    code: str,
    words: Collection[str] = (),
    translated: bool = False,
    cache: Path | None = None,
) -> LanguageWords:
    """A language's most frequent `text.known` words with vectors, and those of `words` beside.

    Without a folder in `text.vectors` they are made from the dataset's captions, of training
    photographs and without any: texts alone, whatever photographs they belong to.
    """
    path = _file(recipe, dataset, code, cache)
    found, subwords = _read(path, words, recipe.known)
    if found.dim != recipe.words:
        raise PolyglanceError(
            f"{path}: has vectors of {found.dim} numbers, and text.words is {recipe.words}; "
            f"set text.words={found.dim}"
        )
    mean = mean_row(normalise_rows(found.matrix[: recipe.known])) if recipe.centre else None
    file = None if subwords is None else str(path.absolute())
    empty = LanguageWords([], found.matrix[:0], mean)
    matrix = empty.prepare(found.matrix)
    return LanguageWords(found.words, matrix, mean, subwords, file, translated)


def _file(recipe: TextRecipe, dataset: Dataset | None, code: str, cache: Path | None) -> Path:
    if recipe.vectors is None:
        if dataset is None:
            raise PolyglanceError(f"no vectors of '{code}': give them with --vectors")
        return _made(recipe, dataset, code, cache)
    return vector_file(Path(recipe.vectors).expanduser(), code, "text.vectors")


def _read(
    path: Path, words: Collection[str], known: int
) -> tuple[WordVectors, SubwordVectors | None]:
    """The `known` first words of a file, and all of `words` that it has a vector for."""
    import numpy as np

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


def _made(recipe: TextRecipe, dataset: Dataset, code: str, cache: Path | None) -> Path:
    """The file of vectors made from captions, made now unless the cache has it."""
    ending = "vec" if recipe.trained == "cooccurrence" else "bin"
    about = [VERSION, recipe.trained, recipe.words, recipe.tokenizer, code]
    key = json_digest({"about": about, "data": dataset_fingerprint(dataset)})[:24]
    path = cache_dir(cache) / "vectors" / f"{code}-{key}.{ending}"
    if path.is_file():
        return path
    sentences = caption_sentences(dataset, [code], tokenizer=recipe.tokenizer)[code]
    if recipe.trained == "cooccurrence":
        from polyglance.text.cooccurrence import cooccurrence_vectors
        from polyglance.text.vectors import save_vectors

        vectors = cooccurrence_vectors(sentences, recipe.words)
        save_vectors(path, vectors.words, vectors.matrix)
    else:
        from polyglance.text.train_vectors import VectorSettings, train_vectors

        train_vectors(sentences, VectorSettings(dim=recipe.words)).save(path)
    return path
