"""Exact search: every picture is compared with every query."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.evaluation.similarity import scores
from polyglance.search.gallery import Gallery, gallery_of_files
from polyglance.search.query import Query, check_query

if TYPE_CHECKING:
    from polyglance.models import Model

DIGITS = 6
"""Scores are compared to this many decimals: copies of a picture differ in the last bits,
depending on where in a batch they were, and shall be ties."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A picture found; `rank` counts from 1."""

    path: Path
    score: float
    rank: int


def search_images(
    model: "Model",
    paths: Sequence[str | Path],
    queries: Sequence[str] | str,
    languages: Sequence[str | None] | str | None = None,
    top: int = 10,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> list[list[Hit]]:
    """The `top` pictures for each query, best first; ties in the order of the paths.

    `languages` is one code for all queries, one per query, or None: then the script decides.
    Unreadable pictures are left out with a warning, as are words that the model does not know.
    """
    checked = check_queries(model, queries, languages)
    gallery = gallery_of_files(model, paths, cache, show_progress)
    told = [query.warning for query in checked if query.warning]
    told += [f"{path}: skipped, {reason}" for path, reason in gallery.problems]
    for message in told:
        warnings.warn(message, stacklevel=2)
    return search(model, gallery, checked, top)


def check_queries(
    model: "Model",
    queries: Sequence[str] | str,
    languages: Sequence[str | None] | str | None = None,
) -> list[Query]:
    """`check_query` for each sentence, with one language for all or one per query."""
    texts = [queries] if isinstance(queries, str) else list(queries)
    codes = [languages] * len(texts) if isinstance(languages, str | None) else list(languages)
    if not texts:
        raise PolyglanceError("there is no query; give at least one sentence")
    if len(codes) != len(texts):
        raise PolyglanceError(f"{len(texts)} queries were given with {len(codes)} languages")
    return [check_query(model, text, code) for text, code in zip(texts, codes, strict=True)]


def search(
    model: "Model", gallery: Gallery, queries: Sequence[Query], top: int = 10
) -> list[list[Hit]]:
    """The `top` pictures of a gallery for each query."""
    if top < 1:
        raise PolyglanceError(f"cannot show the top {top} pictures; ask for at least 1")
    vectors = [model.encode_text(q.text, q.language, show_progress=False)[0] for q in queries]
    values = scores.get(model.similarity)(gallery.vectors, np.stack(vectors))  # [N, Q]
    return [_hits(gallery, column, top) for column in values.T]


def best_first(values: np.ndarray, top: int) -> np.ndarray:
    """Indices of the `top` largest of `values` [n], largest first, ties by index.

    >>> best_first(np.array([0.5, 0.9, 0.5, 0.1]), 2).tolist()
    [1, 0]
    """
    rounded = np.round(values.astype(np.float64), DIGITS)
    top = min(top, len(rounded))
    least = np.partition(rounded, -top)[-top]
    candidates = np.flatnonzero(rounded >= least)
    order = np.argsort(-rounded[candidates], kind="stable")
    return candidates[order[:top]]


def _hits(gallery: Gallery, values: np.ndarray, top: int) -> list[Hit]:
    chosen = enumerate(best_first(values, top), 1)
    return [Hit(gallery.paths[i], round(float(values[i]), DIGITS), rank) for rank, i in chosen]
