"""Batches of images with captions in all languages that they have.

Kim et al. 2020, MULE; Burns et al. 2020, SMALR, §3.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe, TupleSampling
from polyglance.training.distributed import Share
from polyglance.training.samplers.base import Sampler, samplers
from polyglance.training.samplers.batches import BatchOrder
from polyglance.training.samplers.captions_by_image import CaptionsByImage, updates_over_captions

ORDER, DRAWS = 606, 607
"""Streams of random numbers, distinct from those of the other samplers."""


class DistinctCaptions(NamedTuple):
    """Distinct captions of a batch: `rows` [n] of the data, ids [n, T], lengths [n].

    `places` [L, B, k] has the index of the caption at each position; n if there is none.
    """

    rows: np.ndarray
    ids: np.ndarray
    lengths: np.ndarray
    places: np.ndarray

    def share(self, images: Share) -> "SharedCaptions":
        """The captions of a share of the images."""
        if not images.sizes:
            every = np.arange(len(self.rows))
            return SharedCaptions(every, every, self.places, images)
        found = [np.unique(self.places[:, one.rows]) for one in images.all()]
        parts = [part[part < len(self.rows)] for part in found]
        own = parts[images.rank]
        places = np.searchsorted(own, self.places[:, images.rows])
        sizes = tuple(len(part) for part in parts)
        return SharedCaptions(own, np.concatenate(parts), places, Share(images.rank, sizes))


class SharedCaptions(NamedTuple):
    """The distinct captions that one process embeds.

    `own` [m] are their indices, `order` [n] the indices of all ranks' captions concatenated,
    `places` [L, b, k] the positions in own images, m if there is none. `part` is the share of the
    captions.
    """

    own: np.ndarray
    order: np.ndarray
    places: np.ndarray
    part: Share


class CaptionIds(Protocol):
    """Caption data that a tuple sampler needs: ids, images and languages."""

    @property
    def ids(self) -> Ragged: ...
    @property
    def image(self) -> np.ndarray: ...
    @property
    def languages(self) -> list[str]: ...
    @property
    def grounded(self) -> int:
        """Number of captions, from the first, that have images."""
        ...

    @property
    def empty(self) -> int | None:
        """The id of captions without known words."""
        ...


@dataclass(frozen=True, slots=True)
class TupleBatch:
    """Images [B], rows of the features, and captions [L, B, k] of each in every language.

    Captions are rows of the training data, −1 if an image has none in a language.
    """

    images: np.ndarray
    captions: np.ndarray

    @property
    def has(self) -> np.ndarray:
        """Whether an image has a language, [L, B] bool."""
        return self.captions[:, :, 0] >= 0

    def distinct(self, ids: Ragged) -> DistinctCaptions:
        """The distinct captions; one drawn twice occurs once."""
        there = self.captions >= 0
        rows, found = np.unique(self.captions[there], return_inverse=True)
        places = np.full(self.captions.shape, len(rows))
        places[there] = found
        return DistinctCaptions(rows, *ids.pad(rows), places)


@samplers.register("tuples")
class TupleSampler(Sampler):
    """Batches of images; a pass has each image once, an epoch is one or several passes.

    For each language k captions are drawn, without replacement if an image has k. Captions without
    known words are left out.
    """

    def __init__(self, recipe: Recipe, data: CaptionIds) -> None:
        sampling = recipe.sampling
        settings = sampling if isinstance(sampling, TupleSampling) else TupleSampling()
        self.seed, self.captions = recipe.training.seed, settings.captions
        codes = np.array(data.languages[: data.grounded])
        self.codes = sorted(set(codes.tolist()))
        image, rows = data.image[: data.grounded], np.arange(data.grounded)
        if data.empty is not None:
            rows = rows[data.ids.flat[data.ids.offsets[rows]] != data.empty]
        if not len(rows):
            raise PolyglanceError("no caption has a known word; lower text.embedder.min_count")
        self.images = np.unique(image[rows])
        self.runs = [
            CaptionsByImage(rows[codes[rows] == code], image, self.images) for code in self.codes
        ]
        nothing = np.zeros(len(self.images))
        self.order = BatchOrder(np.arange(len(self.images)), nothing, recipe.training, ORDER)
        self.updates_per_epoch = self.order.batches_per_pass
        if settings.epoch == "captions":
            size = recipe.training.batch_size
            self.updates_per_epoch = updates_over_captions(self.runs, size)

    def batches(self, start: int) -> Iterator[TupleBatch]:
        for update in count(start):
            chosen = self.order.batch(*divmod(update, self.order.batches_per_pass))
            generator = np.random.default_rng([self.seed, update, DRAWS])
            captions = [self._draw(run, chosen, generator) for run in self.runs]
            yield TupleBatch(self.images[chosen], np.stack(captions))

    def _draw(
        self, run: CaptionsByImage, chosen: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Captions [B, k] of the images `chosen` [B] in a language."""
        if not len(run.rows):
            return np.full((len(chosen), self.captions), -1)
        counts = run.count[chosen][:, None]
        keys = generator.random((len(chosen), max(int(counts.max()), self.captions)))
        keys[np.arange(keys.shape[1]) >= counts] = 2.0
        order = np.argsort(keys, 1)
        places = np.take_along_axis(order, np.arange(self.captions) % np.maximum(counts, 1), 1)
        there = run.first[chosen][:, None] + places
        found = run.rows[np.minimum(there, len(run.rows) - 1)]
        return np.where(counts > 0, found, -1)
