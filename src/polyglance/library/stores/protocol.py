"""The protocol of what keeps a library's images and embeddings, and the checks all share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.record import Record, Stamp
from polyglance.numerics.similarity import normalise

DIGITS = 6
"""Scores have this many decimals: equal images differ in the last bits, and shall be ties."""


class Found(NamedTuple):
    """An image that a search found."""

    record: Record
    score: float
    """The cosine with the query."""


def ranked(found: Iterable[tuple[Record, float]]) -> list[Found]:
    """Hits with rounded scores, best first, equal ones in the order of their paths."""
    hits = [Found(record, round(float(score), DIGITS)) for record, score in found]
    return sorted(hits, key=lambda hit: (-hit.score, hit.record.path))


class Known(NamedTuple):
    """What a sync asks about an image that the store has."""

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
    """What a store is."""

    kind: str
    model: str
    dim: int
    count: int
    exact: bool
    """Whether a search compares all vectors, or looks in an index."""


class Store(Protocol):
    """Images with their embeddings, all of one model; the conformance suite is `tests/library`.

    A method that has returned is durable where the store is: no kill takes it back. Whatever a
    method writes is there whole or not at all, and seen by every process that opens the store.
    """

    @property
    def model(self) -> str:
        """The id of the model that all embeddings are of."""

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""

    def upsert(self, records: Sequence[Record], vectors: np.ndarray, model: str) -> None:
        """Put images in, in place of those with the same id.

        Args:
            records: n images; of two with the same id the last counts.
            vectors: [n, D], of any length: they are normalised here.
            model: the id of the model that made the vectors; another one than the store's is an
                error.
        """

    def delete(self, ids: Iterable[str]) -> None:
        """Take images out; ids that are not there are passed over."""

    def search(
        self, vector: np.ndarray, top: int, model: str, where: Filter = EVERYTHING
    ) -> list[Found]:
        """The images closest to a query, best first, equal ones in the order of their paths.

        Args:
            vector: [D], of any length.
            top: how many at most.
            model: the id of the model that made the vector.
            where: which images are looked at.
        """

    def count(self, where: Filter = EVERYTHING) -> int:
        """How many images there are."""

    def info(self) -> StoreInfo:
        """What the store is."""

    def known(self) -> list[Known]:
        """All images, as far as a sync needs them."""

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """All images in the order of their paths, or those of the ids that are there."""

    def columns(self, where: Filter = EVERYTHING) -> Columns:
        """All images that a filter leaves, with their embeddings; for those who need them all."""

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """Embeddings float32 [n, D] in the order of the ids; one that is not there is an error."""

    def optimise(self) -> None:
        """Put together what many small writes left, and index what has become large."""

    def drop(self) -> None:
        """Delete the store with all that is in it, for good."""

    def close(self) -> None:
        """Give back what it holds of files and connections."""


def check_model(own: str, given: str) -> None:
    """Raise where vectors are of another model than the store's."""
    if own != given:
        raise PolyglanceError(
            f"the vectors are of the model {given[:16]}, those of this library of {own[:16]}, and "
            "cannot be compared; embed the library anew with 'polyglance library reembed LIBRARY "
            "--model MODEL', or use the model that it was made with"
        )


def checked_vectors(vectors: np.ndarray, count: int, dim: int) -> np.ndarray:
    """Normalised float32 [count, dim]; another shape, NaN, infinity or a zero is an error.

    Args:
        vectors: as they were given.
        count: how many there must be.
        dim: their dimension.
    """
    found = np.asarray(vectors, np.float32)
    if found.shape != (count, dim):
        raise PolyglanceError(f"vectors of shape {list(found.shape)}: must be [{count}, {dim}]")
    if not np.isfinite(found).all() or not found.any(1).all():
        raise PolyglanceError("a vector is zero, NaN or infinite; embed the image again")
    return normalise(found)


def missing_id(name: str) -> PolyglanceError:
    """The error of an id that a store does not have."""
    return PolyglanceError(f"there is no image '{name}' in this library")
