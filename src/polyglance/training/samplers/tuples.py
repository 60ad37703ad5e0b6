"""Batches of images with captions in every language that they have (Kim et al. 2020, MULE)."""

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
from polyglance.training.samplers.runs import CaptionRuns, updates_over_captions

ORDER, DRAWS = 606, 607
"""Streams of random numbers beside those of the other samplers."""


class DistinctCaptions(NamedTuple):
    """Distinct captions of a batch: `rows` [n] of the data, ids [n, T], lengths [n].

    `places` [L, B, k] say which of them stands where; n is none.
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
    """Of distinct captions those that a process embeds.

    `own` [m] says which, `order` [n] which come when all ranks' are laid end to end, `places`
    [L, b, k] where its own stand in its images; m is none. `part` is its share of the captions.
    """

    own: np.ndarray
    order: np.ndarray
    places: np.ndarray
    part: Share


class CaptionIds(Protocol):
    """What a sampler of tuples needs of captions: ids, images and languages, of each."""

    @property
    def ids(self) -> Ragged: ...
    @property
    def image(self) -> np.ndarray: ...
    @property
    def languages(self) -> list[str]: ...
    @property
    def grounded(self) -> int:
        """Captions, from the first, that have images."""
        ...

    @property
    def empty(self) -> int | None:
        """The id of captions without any known word."""
        ...


@dataclass(frozen=True, slots=True)
class TupleBatch:
    """Images [B], rows of the features, and captions [L, B, k] of each in every language.

    Captions are rows of the training data, −1 where an image has none in a language.
    """

    images: np.ndarray
    captions: np.ndarray

    @property
    def has(self) -> np.ndarray:
        """Which images have a language, [L, B] bool."""
        return self.captions[:, :, 0] >= 0

    def distinct(self, ids: Ragged) -> DistinctCaptions:
        """The captions, once each, also where one was drawn twice."""
        there = self.captions >= 0
        rows, found = np.unique(self.captions[there], return_inverse=True)
        places = np.full(self.captions.shape, len(rows))
        places[there] = found
        return DistinctCaptions(rows, *ids.pad(rows), places)


@samplers.register("tuples")
class TupleSampler(Sampler):
    """Batches of images; a pass has every one of them once, an epoch is one or several passes.

    For each language k captions are drawn, without replacement where an image has k. Captions
    without any known word are left out.
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
            CaptionRuns(rows[codes[rows] == code], image, self.images) for code in self.codes
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
        self, run: CaptionRuns, chosen: np.ndarray, generator: np.random.Generator
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
