"""The protocol of a library's store of images and embeddings, and checks that all stores share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.record import Record, Stamp
from polyglance.numerics.similarity import normalise

DIGITS = 6
"""Decimals of scores: those of equal images differ in the last bits, and should be ties."""


class Found(NamedTuple):
    """An image found by a search."""

    record: Record
    score: float
    """Cosine similarity with the query."""


def ranked(found: Iterable[tuple[Record, float]]) -> list[Found]:
    """Hits with rounded scores, best first; ties in the order of their paths."""
    hits = [Found(record, round(float(score), DIGITS)) for record, score in found]
    return sorted(hits, key=lambda hit: (-hit.score, hit.record.path))


class Known(NamedTuple):
    """What a sync needs to know about a stored image."""

    id: str
    path: str
    content: str
    stamp: Stamp


class Columns(NamedTuple):
    """Images by column, in the order of their paths."""

    ids: list[str]
    paths: list[str]
    vectors: np.ndarray
    """float32 [n, D], of length one."""


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Properties of a store."""

    kind: str
    model: str
    dim: int
    count: int
    exact: bool
    """Whether a search compares all vectors, or uses an index."""


class Store(Protocol):
    """Images with their embeddings, all by one model; the conformance tests are in `tests/library`.

    Once a method has returned, its effect is durable, if the store is: it survives a kill. Writes
    are atomic, and visible to every process that opens the store.
    """

    @property
    def model(self) -> str:
        """The id of the model of all embeddings."""

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""

    def upsert(self, records: Sequence[Record], vectors: np.ndarray, model: str) -> None:
        """Insert images, replacing those with the same id.

        Args:
            records: n images; of two with the same id, the last one counts.
            vectors: [n, D], of any length; they are normalised here.
            model: id of the model that computed the vectors; it is an error if it is not the
                store's.
        """

    def delete(self, ids: Iterable[str]) -> None:
        """Delete images; unknown ids are ignored."""

    def search(
        self, vector: np.ndarray, top: int, model: str, where: Filter = EVERYTHING
    ) -> list[Found]:
        """The images closest to a query, best first; ties in the order of their paths.

        Args:
            vector: [D], of any length.
            top: largest number of results.
            model: id of the model that computed the vector.
            where: restricts the search.
        """

    def count(self, where: Filter = EVERYTHING) -> int:
        """Number of images that a filter matches."""

    def info(self) -> StoreInfo:
        """Properties of the store."""

    def known(self) -> list[Known]:
        """All images, with the fields that a sync needs."""

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """All images in the order of their paths, or those among `ids` that exist."""

    def columns(self, where: Filter = EVERYTHING) -> Columns:
        """All images that a filter matches, with their embeddings."""

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """Embeddings float32 [n, D] in the order of the ids; an unknown id is an error."""

    def optimise(self) -> None:
        """Compact the store after many small writes, and index it once it is large."""

    def drop(self) -> None:
        """Delete the store and its content permanently."""

    def close(self) -> None:
        """Release files and connections."""


def check_model(own: str, *given: str) -> None:
    """Raise if vectors were computed by another model than the store's.

    Args:
        own: id of the store's model.
        given: ids of the vectors' model, any of which may be the store's.
    """
    if own not in given:
        raise PolyglanceError(
            f"the vectors are of model {given[0][:16]}, but those of this library of {own[:16]}, "
            "and cannot be compared; embed the library again with 'polyglance library reembed "
            "LIBRARY --model MODEL', or use its own model"
        )


def checked_vectors(vectors: np.ndarray, count: int, dim: int) -> np.ndarray:
    """Normalised float32 [count, dim]; raise for another shape, NaN, infinity or a zero vector.

    Args:
        vectors: to check.
        count: expected number.
        dim: expected dimension.
    """
    found = np.asarray(vectors, np.float32)
    if found.shape != (count, dim):
        raise PolyglanceError(f"vectors of shape {list(found.shape)}: must be [{count}, {dim}]")
    if not np.isfinite(found).all() or not found.any(1).all():
        raise PolyglanceError("a vector is zero, NaN or infinite; embed the image again")
    return normalise(found)


def missing_id(name: str) -> PolyglanceError:
    """The error for an unknown id."""
    return PolyglanceError(f"there is no image '{name}' in this library")
