"""Fixed word vectors of a recipe's languages: from files, or made from captions."""

from collections.abc import Collection
from pathlib import Path

from polyglance.data.dataset import Dataset
from polyglance.data.fingerprint import dataset_fingerprint, digest
from polyglance.errors import PolyglanceError
from polyglance.files import cache_dir
from polyglance.recipes.schema import VectorsEmbedderRecipe
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
    recipe: VectorsEmbedderRecipe,
    tokenizer: str,
    dataset: Dataset | None,
    code: str,
    words: Collection[str] = (),
    translated: bool = False,
    cache: Path | None = None,
) -> LanguageWords:
    """A language's most frequent words with vectors, and those of `words` beside.

    Without a folder of vectors they are made from the dataset's captions, of training images and
    without any: texts alone, whatever images they belong to.

    Args:
        recipe: where vectors come from, and how many are kept.
        tokenizer: what cuts captions into words.
        dataset: where captions are taken from, if there is no folder.
        code: the language.
        words: others that shall have vectors, such as those of captions.
        translated: whether a translator is put behind the vectors.
        cache: where vectors made from captions are kept.
    """
    path = _file(recipe, tokenizer, dataset, code, cache)
    found, subwords = _read(path, words, recipe.known)
    if found.dim != recipe.word_dim:
        raise PolyglanceError(
            f"{path}: has vectors of dimension {found.dim}, and text.embedder.word_dim is "
            f"{recipe.word_dim}; set text.embedder.word_dim={found.dim}"
        )
    mean = mean_row(normalise_rows(found.matrix[: recipe.known])) if recipe.centre else None
    file = None if subwords is None else str(path.absolute())
    empty = LanguageWords([], found.matrix[:0], mean)
    matrix = empty.prepare(found.matrix)
    return LanguageWords(found.words, matrix, mean, subwords, file, translated)


def _file(
    recipe: VectorsEmbedderRecipe,
    tokenizer: str,
    dataset: Dataset | None,
    code: str,
    cache: Path | None,
) -> Path:
    if recipe.vectors is None:
        if dataset is None:
            raise PolyglanceError(f"no vectors of '{code}': give them with --vectors")
        return _made(recipe, tokenizer, dataset, code, cache)
    return vector_file(Path(recipe.vectors).expanduser(), code, "text.embedder.vectors")


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


def _made(
    recipe: VectorsEmbedderRecipe, tokenizer: str, dataset: Dataset, code: str, cache: Path | None
) -> Path:
    """The file of vectors made from captions, made now unless the cache has it."""
    ending = "vec" if recipe.trained == "cooccurrence" else "bin"
    about = [VERSION, recipe.trained, recipe.word_dim, tokenizer, code]
    key = digest({"about": about, "data": dataset_fingerprint(dataset)})[:24]
    path = cache_dir(cache) / "vectors" / f"{code}-{key}.{ending}"
    if path.is_file():
        return path
    sentences = caption_sentences(dataset, [code], tokenizer=tokenizer)[code]
    if recipe.trained == "cooccurrence":
        from polyglance.text.cooccurrence import cooccurrence_vectors
        from polyglance.text.vectors import save_vectors

        vectors = cooccurrence_vectors(sentences, recipe.word_dim)
        save_vectors(path, vectors.words, vectors.matrix)
    else:
        from polyglance.text.train_vectors import VectorSettings, train_vectors

        train_vectors(sentences, VectorSettings(dim=recipe.word_dim)).save(path)
    return path
