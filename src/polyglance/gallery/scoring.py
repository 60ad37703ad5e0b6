"""Scores of a gallery's images for a query, which may be combined."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.gallery.candidates import Page
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.hit import Cutoff, ScoreKind
from polyglance.gallery.query import Query
from polyglance.numerics.quantised import QuantisedProducts
from polyglance.numerics.similarity import normalise

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import Background, ExportedModel

BLOCK = 4096
"""Images whose embeddings are converted to float32 at a time."""
QUANTISED_FROM = 20_000
"""Images from which a page is searched with products in 8 bits first; fewer are fast anyway."""
UNCERTAIN = 0.1
"""Largest share of images whose products are computed one by one, not all at once."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores that images are ranked by, [N]; for a calibrated score also the similarity.

    `fits` [N] says which images match, if the model has a threshold: the `cutoff`. `known` is false
    if the model hardly knows the sentence.
    """

    values: np.ndarray
    similarity: np.ndarray | None = None
    fits: np.ndarray | None = None
    kind: ScoreKind | None = None
    cutoff: Cutoff | None = None
    known: bool = True


class Scorer:
    """Scores images for queries: `Scorer(model, gallery)(query)`.

    Args:
        model: encodes the queries; must be the one that embedded the gallery.
        gallery: the images.
        cache: folder for features of query images; None for the XDG cache.
    """

    def __init__(
        self, model: "Model | ExportedModel", gallery: Gallery, cache: Path | None = None
    ) -> None:
        self.model, self.gallery, self.cache = model, gallery, cache
        self.background: Background | None = getattr(model, "background", None)
        self._quantised: QuantisedProducts | None = None

    def __call__(self, query: Query, page: Page | None = None) -> Scores:
        """Scores for a sentence or image alone, or combined with similar and excluded ones.

        A single image is compared by cosine similarity. A sentence has a calibrated score if the
        model has a background, else its similarity. For a combined query, the standard scores of
        wanted parts are averaged, and those of excluded parts subtracted.

        Args:
            query: a sentence or image.
            page: the requested part; scores of other images may then be approximate, by an amount
                that does not change it.
        """
        vector = query_vector(self.model, query, self.cache)
        single = not query.mixed and query.image is None
        if page is not None and single and self._quantised is not None:
            similarity = self._for_page(query, vector, page)
        else:
            similarity = self._similarity(query, vector)
        if not query.mixed and (query.image is not None or self.background is None):
            kind: ScoreKind = "cosine" if query.image is not None else self.model.similarity_name
            return Scores(similarity, kind=kind)
        pictured = query.like or query.image is not None
        calibrated = None if pictured else self._calibrated(query, vector, similarity)
        fits = None if calibrated is None else self._fits(calibrated)
        cutoff, known = None, True
        if fits is not None:
            cutoff, known = self._cutoff(), self._knows(vector)
        if not query.mixed:
            assert calibrated is not None
            assert cutoff is not None
            return Scores(calibrated, similarity, fits, cutoff.kind, cutoff, known)
        wanted = [
            self._standard_scores(query, vector, similarity),
            *(self.standard(other) for other in query.like),
        ]
        values = np.mean(wanted, axis=0) - sum(self.standard(other) for other in query.without)
        return Scores(values, similarity, fits, "standard", cutoff, known)

    def standard(self, query: Query) -> np.ndarray:
        """Standard scores of images [N] for a query."""
        vector = query_vector(self.model, query, self.cache)
        return self._standard_scores(query, vector, self._similarity(query, vector))

    def reachable(self, query: Query, similarity: float) -> float:
        """The highest score that an image of this similarity has, if it is like the gallery's in
        all other respects.

        Args:
            query: a sentence or image, not combined with others.
            similarity: of the image.
        """
        if query.image is not None or self.background is None:
            return similarity
        vector = query_vector(self.model, query, self.cache)
        values = np.full(len(self.gallery), similarity, np.float32)
        return float(self._calibrated(query, vector, values).max())

    def prepare(self) -> None:
        """Compute what the first query would otherwise wait for."""
        if self.background is not None:
            _ = self._usual
        embeddings = self.gallery.embeddings
        quick = self.gallery.unit and embeddings.dtype == np.float32
        if quick and len(embeddings) >= QUANTISED_FROM and self._quantised is None:
            self._quantised = QuantisedProducts(embeddings)

    def _for_page(self, query: Query, vector: np.ndarray, page: Page) -> np.ndarray:
        """Similarities [N], exact where they affect the page."""
        assert self._quantised is not None
        unit, embeddings = normalise(vector)[0], self.gallery.embeddings
        found, error = self._quantised(unit)
        low, high, cutoff = found - error, found + error, None
        if self.background is not None:
            score, cutoff = self._calibration(query, vector), self.background.cutoff
            ends = score(low), score(high)
            low, high = np.minimum(*ends), np.maximum(*ends)
        rows = page.uncertain(low, high, cutoff)
        if len(rows) > UNCERTAIN * len(embeddings):
            return self._products(unit)
        # In 64 bits: the last bits of 32 depend on which rows are multiplied together, and a tie
        # must not be broken otherwise on the next page.
        found[rows] = embeddings[rows].astype(np.float64) @ unit.astype(np.float64)
        return found

    def _fits(self, calibrated: np.ndarray) -> np.ndarray | None:
        return None if self.background is None else calibrated >= self.background.cutoff

    def _cutoff(self) -> Cutoff:
        assert self.background is not None
        kind: ScoreKind = "standard" if self.background.chance is None else "probability"
        return Cutoff(kind, self.background.cutoff)

    def _knows(self, vector: np.ndarray) -> bool:
        return self.background is None or bool(self.background.knows(vector)[0])

    def _calibrated(self, query: Query, vector: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Match probabilities [N], if the background supports them; else standard scores."""
        return self._calibration(query, vector)(values)

    def _calibration(self, query: Query, vector: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function from a sentence's similarities [N] to `_calibrated`."""
        background = self.background
        if background is None or background.chance is None:
            return lambda values: self._standard_scores(query, vector, values)
        chance, added = background.chance, background.of_texts(vector)
        by_text = background.for_text(vector).standard_scores

        def calibrated(values: np.ndarray) -> np.ndarray:
            return chance((by_text(values) + self._by_images(values)) / 2, added)

        return calibrated

    def _similarity(self, query: Query, vector: np.ndarray) -> np.ndarray:
        """Similarities [N]; images are compared by cosine similarity."""
        if query.image is not None or self.gallery.unit:
            other = normalise(vector)[0]
            if self.gallery.unit:
                return self._products(other)
            return self._blocks(lambda block: normalise(block) @ other)
        return self._blocks(lambda block: self.model.similarity(block, vector))[:, 0]

    def _standard_scores(self, query: Query, vector: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Standard scores [N] of similarities.

        Relative to the background, or without one to the gallery.
        """
        if self.background is None:
            return (values - values.mean()) / max(float(values.std()), 1e-6)
        if query.image is not None:
            return self.background.for_image(vector).standard_scores(values)
        usual = self.background.for_text(vector)
        return usual.clarity * (usual.standard_scores(values) + self._by_images(values)) / 2

    def _by_images(self, values: np.ndarray) -> np.ndarray:
        mean, spread = self._usual
        return (values - mean) / spread

    @cached_property
    def _usual(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation [N] of each image's similarities with background sentences."""
        background = self.background
        assert background is not None
        found = self._blocks(lambda block: background.of_images(block))
        return found[:, 0].copy(), found[:, 1].copy()

    def _products(self, vector: np.ndarray) -> np.ndarray:
        """Dot products [N] with one vector [D].

        Embeddings in 32 bits need no conversion and no blocks: each block would wait for the
        interpreter's lock again, up to 5 ms while other threads answer requests.
        """
        images = self.gallery.embeddings
        if images.dtype == np.float32:
            return np.asarray(images @ vector)
        return self._blocks(lambda block: block @ vector)

    def _blocks(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply a function of embeddings [n, D] to all images, in blocks."""
        images = self.gallery.embeddings
        starts = range(0, len(images), BLOCK)
        parts = (np.asarray(images[start : start + BLOCK], np.float32) for start in starts)
        return np.concatenate([function(part) for part in parts])


def query_vector(
    model: "Model | ExportedModel", query: Query, cache: Path | None = None
) -> np.ndarray:
    """The embedding [1, D] of a sentence or image.

    Args:
        model: encodes it.
        query: not necessarily alone; what it is combined with is ignored.
        cache: folder for features of images; the XDG cache by default.
    """
    if isinstance(query.image, np.ndarray) and query.image.ndim == 1:
        return normalise(query.image[None])
    if query.image is not None:
        found = model.encode_images(query.image, cache, show_progress=False)
        return normalise(np.asarray(found))
    if query.vector is not None:
        return np.asarray(query.vector, np.float32)[None]
    from polyglance.evaluation.encoder import encode_quietly

    return np.asarray(encode_quietly(model, [query.text], query.language))
