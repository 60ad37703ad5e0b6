"""Scores of a gallery's images for a query, which may be a mixture."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.gallery.gallery import Gallery
from polyglance.gallery.query import Query
from polyglance.numerics.similarity import normalise

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import Background, ExportedModel

BLOCK = 4096
"""Images whose embeddings are widened to float32 at a time."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What images are ranked by, [N]; for a calibrated score also the similarity.

    `fits` [N] says which images look like what is asked for, where the model can tell.
    """

    values: np.ndarray
    similarity: np.ndarray | None = None
    fits: np.ndarray | None = None


class Scorer:
    """Scores images for queries: `Scorer(model, gallery)(query)`."""

    def __init__(
        self, model: "Model | ExportedModel", gallery: Gallery, cache: Path | None = None
    ) -> None:
        self.model, self.gallery, self.cache = model, gallery, cache
        self.background: Background | None = getattr(model, "background", None)

    def __call__(self, query: Query) -> Scores:
        """Scores for a sentence or image alone, or with images to be like and what not to show.

        An image alone is compared by its cosine. A sentence has a calibrated score where the
        model has a background, else its similarity. Of a mixture the standard scores of what is
        wanted are averaged, and those of what is not are taken off.
        """
        vector = self._vector(query)
        similarity = self._similarity(query, vector)
        if not query.mixed and (query.image is not None or self.background is None):
            return Scores(similarity)
        pictured = query.like or query.image is not None
        calibrated = None if pictured else self._calibrated(query, vector, similarity)
        fits = None if calibrated is None else self._fits(calibrated)
        if not query.mixed:
            assert calibrated is not None
            return Scores(calibrated, similarity, fits)
        wanted = [
            self._standing(query, vector, similarity),
            *(self.standard(other) for other in query.like),
        ]
        values = np.mean(wanted, axis=0) - sum(self.standard(other) for other in query.without)
        return Scores(values, similarity, fits)

    def standard(self, query: Query) -> np.ndarray:
        """How many standard deviations images [N] are above what is usual for a query."""
        vector = self._vector(query)
        return self._standing(query, vector, self._similarity(query, vector))

    def prepare(self) -> None:
        """Compute what the first query would wait for."""
        if self.background is not None:
            _ = self._usual

    def _fits(self, calibrated: np.ndarray) -> np.ndarray | None:
        return None if self.background is None else calibrated >= self.background.cutoff

    def _calibrated(self, query: Query, vector: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Chances of a fit [N], where the background can tell; else standard scores."""
        background = self.background
        if background is None or background.chance is None:
            return self._standing(query, vector, values)
        standing = (background.for_text(vector).standing(values) + self._by_images(values)) / 2
        return background.chance(standing, background.of_texts(vector))

    def _vector(self, query: Query) -> np.ndarray:
        """The embedding [1, D] of a sentence or image."""
        if isinstance(query.image, np.ndarray) and query.image.ndim == 1:
            return normalise(query.image[None])
        if query.image is not None:
            found = self.model.encode_images(query.image, self.cache, show_progress=False)
            return normalise(np.asarray(found))
        if query.vector is not None:
            return np.asarray(query.vector, np.float32)[None]
        from polyglance.evaluation.encoder import encode_quietly

        return np.asarray(encode_quietly(self.model, [query.text], query.language))

    def _similarity(self, query: Query, vector: np.ndarray) -> np.ndarray:
        """Similarities [N]; images are compared by their cosine."""
        if query.image is not None or self.gallery.unit:
            unit, other = self.gallery.unit, normalise(vector)
            return self._blocks(lambda x: (x if unit else normalise(x)) @ other.T)[:, 0]
        return self._blocks(lambda block: self.model.similarity(block, vector))[:, 0]

    def _standing(self, query: Query, vector: np.ndarray, values: np.ndarray) -> np.ndarray:
        """How many standard deviations above the usual a similarity is, [N].

        Usual is what the background has; without one, what the gallery has.
        """
        if self.background is None:
            return (values - values.mean()) / max(float(values.std()), 1e-6)
        if query.image is not None:
            return self.background.for_image(vector).standing(values)
        usual = self.background.for_text(vector)
        return usual.clarity * (usual.standing(values) + self._by_images(values)) / 2

    def _by_images(self, values: np.ndarray) -> np.ndarray:
        mean, spread = self._usual
        return (values - mean) / spread

    @cached_property
    def _usual(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread [N] of each image's similarities with background sentences."""
        background = self.background
        assert background is not None
        found = self._blocks(lambda block: background.of_images(block))
        return found[:, 0], found[:, 1]

    def _blocks(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A function of embeddings [n, D] for all images, some at a time."""
        images = self.gallery.embeddings
        starts = range(0, len(images), BLOCK)
        parts = (np.asarray(images[start : start + BLOCK], np.float32) for start in starts)
        return np.concatenate([function(part) for part in parts])
