"""A feed of photographs with captions in every language that they have (MULE, spec §5.2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.ragged import Ragged
from polyglance.recipes import Recipe
from polyglance.text.closed import NOTHING
from polyglance.training.feed import Feed, Loader

BATCHES, DRAWS = 606, 607
"""Streams of random numbers beside those of the other feeds."""


class Captions(NamedTuple):
    """Distinct captions of a batch: `rows` [n] of the data, ids [n, T], lengths [n].

    `places` [L, B, k] say which of them stands where; n is none.
    """

    rows: np.ndarray
    ids: np.ndarray
    lengths: np.ndarray
    places: np.ndarray


class Captioned(NamedTuple):
    """What a feed of tuples needs of captions: ids, photographs and languages, of each."""

    tokens: Ragged
    photo: np.ndarray
    languages: list[str]

    @property
    def grounded(self) -> int:
        """Captions that have photographs: all."""
        return len(self.photo)


class HasCaptions(Protocol):
    """Captioned, or TrainingData."""

    @property
    def tokens(self) -> Ragged: ...
    @property
    def photo(self) -> np.ndarray: ...
    @property
    def languages(self) -> list[str]: ...
    @property
    def grounded(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Tuples:
    """Photographs [B], rows of the features, and captions [L, B, k] of each in every language.

    Captions are rows of the training data, −1 where a photograph has none in a language.
    """

    photos: np.ndarray
    captions: np.ndarray

    @property
    def has(self) -> np.ndarray:
        """Which photographs have a language, [L, B] bool."""
        return self.captions[:, :, 0] >= 0

    def distinct(self, tokens: Ragged) -> Captions:
        """The captions, once each, also where one was drawn twice."""
        there = self.captions >= 0
        rows, found = np.unique(self.captions[there], return_inverse=True)
        places = np.full(self.captions.shape, len(rows))
        places[there] = found
        return Captions(rows, *tokens.pad(rows), places)


class TuplesFeed(Feed):
    """Batches of photographs; an epoch has every one of them once.

    For each language k captions are drawn, without replacement where a photograph has k. Captions
    without any known word are left out.
    """

    def __init__(self, recipe: Recipe, data: HasCaptions) -> None:
        self.seed, self.captions = recipe.training.seed, recipe.constraints.captions
        codes = np.array(data.languages[: data.grounded])
        self.codes = sorted(set(codes.tolist()))
        photo, rows = data.photo[: data.grounded], np.arange(data.grounded)
        if recipe.text.embedder == "universal":
            rows = rows[data.tokens.flat[data.tokens.offsets[rows]] != NOTHING]
        if not len(rows):
            raise PolyglanceError("no caption has a known word; lower text.threshold")
        self.photos = np.unique(photo[rows])
        self.rows, self.first, self.count = [], [], []
        for code in self.codes:
            mine = rows[codes[rows] == code]
            mine = mine[np.argsort(photo[mine], kind="stable")]
            first = np.searchsorted(photo[mine], self.photos)
            self.rows.append(mine)
            self.first.append(first)
            self.count.append(np.searchsorted(photo[mine], self.photos, side="right") - first)
        numbers = np.arange(len(self.photos))
        self.loader = Loader(numbers, np.zeros(len(numbers)), recipe, BATCHES)
        self.updates_per_epoch = self.loader.batches_per_pass

    def steps(self, start: int) -> Iterator[Tuples]:
        """Updates from number `start` on."""
        for update in count(start):
            chosen = self.loader.batch(*divmod(update, self.updates_per_epoch))
            generator = np.random.default_rng([self.seed, update, DRAWS])
            captions = [self._draw(index, chosen, generator) for index in range(len(self.codes))]
            yield Tuples(self.photos[chosen], np.stack(captions))

    def _draw(self, index: int, chosen: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Captions [B, k] of the photographs `chosen` [B] in a language."""
        counts = self.count[index][chosen][:, None]
        keys = generator.random((len(chosen), max(int(counts.max()), self.captions)))
        keys[np.arange(keys.shape[1]) >= counts] = 2.0
        order = np.argsort(keys, 1)
        places = np.take_along_axis(order, np.arange(self.captions) % np.maximum(counts, 1), 1)
        there = self.first[index][chosen][:, None] + places
        found = self.rows[index][np.minimum(there, len(self.rows[index]) - 1)]
        return np.where(counts > 0, found, -1)


def check_tuples(recipe: Recipe) -> None:
    """Settings that mean nothing with tuples are errors."""
    if recipe.loss.name != "triplets":
        raise PolyglanceError("tasks.sampling=tuples has a loss of its own: set loss.name=triplets")
    if recipe.attention.matching != "none" or recipe.joint.similarity != "cosine":
        raise PolyglanceError(
            "tasks.sampling=tuples compares points by cosine: set attention.matching=none and "
            "joint.similarity=cosine"
        )
    if recipe.text.in_pieces:
        raise PolyglanceError("tasks.sampling=tuples needs words: text without a transformer")
    tasks = recipe.tasks
    if tasks.c2c or tasks.text_only or tasks.grounded is not None:
        raise PolyglanceError(
            "tasks.sampling=tuples ranks all captions of the photographs: leave out tasks.c2c, "
            "text_only and grounded; section constraints weighs captions against captions"
        )
    if recipe.augment.words:
        raise PolyglanceError("tasks.sampling=tuples masks words itself: use constraints.masking")
