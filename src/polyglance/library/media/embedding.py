"""Embeds the images of files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.library.media.reading import DecodedImage, Preparing, read_many

BATCH = 8
"""Images per forward pass."""


class ImageEncoder(Protocol):
    """The image side of a model, as `runtime.encoding.images.ImageSide`."""

    @property
    def preprocessing(self) -> Preparing:
        """The preprocessing of images."""

    def embed_pixels(self, pixels: np.ndarray) -> list[np.ndarray | None]:
        """Embeddings [D] of preprocessed images [b, 3, size, size]; None if there is none."""


class Encoder(Protocol):
    """A model, as `runtime.ExportedModel`."""

    @property
    def id(self) -> str:
        """Identifies the model."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Its id, and former ones of the same embeddings."""

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""

    @property
    def similarity_name(self) -> str:
        """How embeddings are compared."""

    @property
    def images(self) -> ImageEncoder:
        """The image side, which embeds images."""


class Embedded(NamedTuple):
    """A file's images with their embeddings [n, D], or its problem."""

    path: Path
    images: list[DecodedImage]
    vectors: np.ndarray
    problem: ImageProblem | None = None


def check_encoder(model: Encoder) -> None:
    """Raise for a model whose embeddings a library cannot store."""
    if model.similarity_name != "cosine":
        raise PolyglanceError(
            f"this model compares embeddings by '{model.similarity_name}', but a library needs "
            "cosine similarity; use another model"
        )
    _ = model.images.preprocessing


def embed_files(model: Encoder, paths: Iterable[Path]) -> Iterator[Embedded]:
    """Read and embed files, in order.

    Args:
        model: encodes.
        paths: of the files.
    """
    batch: list[tuple[Path, list[DecodedImage] | ImageProblem]] = []
    count = 0
    for path, found in read_many(paths, model.images.preprocessing):
        batch.append((path, found))
        count += 0 if isinstance(found, ImageProblem) else len(found)
        if count >= BATCH or len(batch) >= 4 * BATCH:
            yield from _embed(model, batch)
            batch, count = [], 0
    yield from _embed(model, batch)


def _embed(
    model: Encoder, batch: list[tuple[Path, list[DecodedImage] | ImageProblem]]
) -> Iterator[Embedded]:
    pixels = [p.pixels for _, found in batch if isinstance(found, list) for p in found]
    vectors: list[np.ndarray | None] = []
    for start in range(0, len(pixels), BATCH):
        vectors += model.images.embed_pixels(np.stack(pixels[start : start + BATCH]))
    nothing = np.empty((0, model.dim), np.float32)
    for path, found in batch:
        if isinstance(found, ImageProblem):
            yield Embedded(path, [], nothing, found)
            continue
        own, vectors = vectors[: len(found)], vectors[len(found) :]
        good = [row for row in own if row is not None and np.isfinite(row).all() and row.any()]
        if len(good) < len(own):
            problem = ImageProblem(path, "the model returned no embedding")
            yield Embedded(path, [], nothing, problem)
        else:
            yield Embedded(path, found, np.stack(good))
