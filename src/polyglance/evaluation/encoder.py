"""The interface that evaluation expects of models, and helpers for their embeddings."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError, UnknownLanguageWarning, UnknownWordsWarning
from polyglance.numerics.sets import Embeddings
from polyglance.numerics.similarity import Score, dot, normalise, scores


class Encoder(Protocol):
    """The interface that evaluation expects of a model.

    It may also have `languages`, those it was trained on; `similarity_name`, one of "cosine" (the
    default), "dot" and "order"; or its own function `similarity(images, texts)`, which maps blocks
    of embeddings to scores [n, m]. Embeddings are vectors, or anything with the methods of
    `VectorSets`.
    """

    def encode_text(
        self, texts: list[str], language: str | None = None, *, show_progress: bool | None = None
    ) -> Embeddings:
        """Vectors [n, D] or sets.

        A text without words may raise `NoWords`, which is reported with file and line.

        Args:
            texts: n sentences.
            language: of all texts; None if the model does not know it.
            show_progress: whether to show a progress bar; None for only on a terminal.
        """

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Embeddings:
        """Vectors [N, D] or sets; NaN rows or empty sets for images that cannot be read.

        Args:
            dataset: N images.
            cache: folder for features; None for the XDG cache.
            show_progress: whether to show a progress bar; None for only on a terminal.
        """


def encode_quietly(
    model: Encoder, texts: list[str], language: str | None, show_progress: bool | None = False
) -> Embeddings:
    """Embeddings of texts, without warnings about unknown words and languages.

    Args:
        model: the encoder.
        texts: n sentences.
        language: of all texts; None if the model does not know it.
        show_progress: whether to show a progress bar; None for only on a terminal.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWordsWarning)
        warnings.simplefilter("ignore", UnknownLanguageWarning)
        return model.encode_text(texts, language, show_progress=show_progress)


class Similarity(NamedTuple):
    """How a model compares embeddings: `score(prepare(images), prepare(texts))` is [n, m]."""

    name: str
    prepare: Callable[[Embeddings], Embeddings]
    score: Score


def similarity_of(model: Any) -> Similarity:
    """A model's named similarity, or its own function."""
    name, own = getattr(model, "similarity_name", None), getattr(model, "similarity", None)
    if own is not None and not callable(own):
        raise PolyglanceError(
            "the model's 'similarity' must be a function of images and texts; set "
            f"'similarity_name' to use a known one ({', '.join(scores)})"
        )
    if own is not None and name not in scores.list():
        return Similarity(str(name or "own"), as_embeddings, own)
    if name in (None, "cosine"):
        return Similarity("cosine", normalise, dot)
    return Similarity(str(name), as_embeddings, scores.get(str(name)))


def as_embeddings(value: Embeddings) -> Embeddings:
    """Vectors as a float32 array [n, D]; `VectorSets` and similar unchanged."""
    return value if hasattr(value, "finite") else np.asarray(value, np.float32)


def finite(embeddings: Embeddings) -> np.ndarray:
    """[n] bool: which rows are present and have only finite values."""
    if isinstance(embeddings, np.ndarray):
        return np.asarray(np.isfinite(embeddings).all(axis=1))
    return np.asarray(embeddings.finite())


def concatenate(parts: Sequence[Embeddings]) -> Embeddings:
    """The rows of all parts, in order."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return parts[0].concatenate(parts)


def dim_of(embeddings: Embeddings) -> object:
    """What embeddings of images and texts must have in common, such as the dimension."""
    if not isinstance(embeddings, np.ndarray):
        return type(embeddings), embeddings.dim
    return embeddings.shape[1:]


def shape(embeddings: Embeddings) -> str:
    """The shape, for error messages."""
    if isinstance(embeddings, np.ndarray):
        return str(embeddings.shape)
    return f"{len(embeddings)} of {type(embeddings).__name__}"
