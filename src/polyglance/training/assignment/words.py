"""Words numbered across all languages, and the vectors that tokens are scored with."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from polyglance.data.dataset import CaptionTable
from polyglance.data.text_only import text_only_captions
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import AlignedAssignment, LearnedAssignment, Recipe
from polyglance.storage.digest import content_digest
from polyglance.storage.files import atomic, cache_dir
from polyglance.text.embedders.base import TrainingTexts
from polyglance.text.tokenizers.base import tokenize_many
from polyglance.text.vectors.shared import shared_vectors
from polyglance.text.vectors.trained import Corpus, load_array
from polyglance.text.vectors.word_vectors import WordVectors, normalise_rows

DIM = 300
"""Dimension of word vectors from images."""
VERSION = 1
"""Increased when cached vectors of an earlier version must not be used."""


class NumberedWords(NamedTuple):
    """Captions with words numbered across all languages from 1; 0 is a caption without words."""

    ids: Ragged
    image: np.ndarray
    languages: list[str]
    empty: int = 0

    @property
    def grounded(self) -> int:
        """Number of captions with images: all of them."""
        return len(self.image)


def numbered(
    vectors: Mapping[str, WordVectors], words: Sequence[Sequence[str]], table: CaptionTable
) -> NumberedWords:
    """Captions as numbers of words that have vectors; languages in sorted order.

    Args:
        vectors: word vectors of each language.
        words: of each caption.
        table: the captions.
    """
    offset, start = {}, 1
    for code in sorted(vectors):
        offset[code], start = start, start + len(vectors[code])
    ids = [
        [offset[code] + vectors[code].index[word] for word in own if word in vectors[code]] or [0]
        for own, code in zip(words, table.languages, strict=True)
    ]
    return NumberedWords(Ragged.join(ids), table.image, table.languages)


def word_queries(
    recipe: Recipe,
    assignment: LearnedAssignment,
    vectors: Mapping[str, WordVectors],
    texts: TrainingTexts,
    data: NumberedWords,
) -> list[np.ndarray]:
    """Query vectors [n, d] of the words of each language, which score tokens.

    Args:
        recipe: of the model.
        assignment: of the latent tokens; defines the kind of vectors.
        vectors: the embedder's own word vectors of each language.
        texts: the training captions.
        data: the same, numbered.
    """
    codes = sorted(vectors)
    if not isinstance(assignment, AlignedAssignment):
        return [whitened(vectors[code].matrix) for code in codes]
    if assignment.queries == "vectors":
        return [normalise_rows(vectors[code].matrix).astype(np.float32) for code in codes]
    cuts = np.cumsum([len(vectors[code]) for code in codes])[:-1]
    return np.split(_from_images(recipe, vectors, texts, data), cuts)


def _from_images(
    recipe: Recipe,
    vectors: Mapping[str, WordVectors],
    texts: TrainingTexts,
    data: NumberedWords,
) -> np.ndarray:
    """[w, DIM], from the images and text-only tuples whose captions have a word; cached."""
    codes = sorted(vectors)
    parts = [data]
    corpus = None if texts.dataset is None else Corpus(recipe, texts.dataset, codes)
    if corpus is not None and texts.dataset is not None and corpus.texts is not None:
        table = text_only_captions(texts.dataset, codes, int(data.image.max()) + 1)
        words = tokenize_many(
            table.texts, table.languages, recipe.text.tokenizer, texts.show_progress
        )
        parts.append(numbered(vectors, words, table))
    found = zip(*map(_occurrences, parts), strict=True)
    numbers, documents = (np.concatenate(own) for own in found)
    sizes = _sizes(parts, {code: len(vectors[code]) for code in codes})
    digest = content_digest([f"{VERSION} {DIM}", numbers, documents, sizes])[:24]
    path = cache_dir(texts.cache) / "vectors" / f"shared-{digest}.npy"
    if (kept := load_array(path)) is not None and kept.shape == (len(sizes), DIM):
        return kept
    made = shared_vectors(numbers, documents, sizes, DIM)
    with atomic(path) as handle:
        np.save(handle, made, allow_pickle=False)
    return made


def _occurrences(data: NumberedWords) -> tuple[np.ndarray, np.ndarray]:
    """(word from 0, image) for every occurrence of a known word."""
    image = np.repeat(data.image, data.ids.lengths)
    known = data.ids.flat != data.empty
    return data.ids.flat[known].astype(np.int64) - 1, image[known]


def _sizes(parts: Sequence[NumberedWords], words: Mapping[str, int]) -> np.ndarray:
    """For every word, the number of images and tuples with captions in its language: [w]."""
    seen: dict[str, set[int]] = {code: set() for code in words}
    for part in parts:
        for image, code in zip(part.image.tolist(), part.languages, strict=True):
            seen[code].add(image)
    return np.concatenate([np.full(count, len(seen[code])) for code, count in words.items()])


def whitened(matrix: np.ndarray) -> np.ndarray:
    """Whitened vectors [n, d]: centred, with standard deviation 1 in every direction, float32.

    Otherwise a few strong directions, such as word frequency, dominate, and most words of a
    language with little text get the same few tokens. Directions with less than 1e-4 of the
    largest variance are noise and stay weak.
    """
    centred = matrix.astype(np.float64) - matrix.mean(0, dtype=np.float64)
    values, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    floor = max(float(values[-1]) * 1e-4, 1e-12)
    return (centred @ directions / np.sqrt(values.clip(min=floor))).astype(np.float32)
