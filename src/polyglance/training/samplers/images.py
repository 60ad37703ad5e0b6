"""Batches of images with captions in several languages, plus text pairs and named things."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from polyglance.recipes.schema import ImageSampling, Recipe
from polyglance.training.inputs.by_language import ByLanguage
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers.base import Sampler, samplers
from polyglance.training.samplers.batches import BatchOrder
from polyglance.training.samplers.text_pairs import TextPairs

ORDER, DRAWS, TEXTS, THINGS = 701, 702, 703, 704
"""Streams of random numbers, distinct from those of the other samplers."""


@dataclass(frozen=True, slots=True)
class ImageBatch:
    """Images [B], rows of the features, and captions [B, k] of each.

    `texts` [P, 2] are pairs without images; `things` [N] are images of the second dataset, and
    `names` [N] a text of each.
    """

    images: np.ndarray
    captions: np.ndarray
    texts: np.ndarray
    things: np.ndarray
    names: np.ndarray


@samplers.register("images")
class ImageSampler(Sampler):
    """Every image once per epoch, each time with captions in other languages."""

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        assert isinstance(recipe.sampling, ImageSampling)
        self.settings, self.seed = recipe.sampling, recipe.training.seed
        rows = np.arange(data.grounded)
        self.captions = ByLanguage(rows, data.image[rows], data.languages[: data.grounded])
        images = np.arange(len(self.captions))
        self.order = BatchOrder(images, np.zeros(len(images)), recipe.training, ORDER)
        self.updates_per_epoch = self.order.batches_per_pass
        self.pairs = TextPairs(self.settings, data.texts)
        self.second_dataset = data.second_dataset

    def batches(self, start: int) -> Iterator[ImageBatch]:
        for update in count(start):
            chosen = self.order.batch(*divmod(update, self.updates_per_epoch))
            generator = self._generator(update, DRAWS)
            captions = self.captions.several(chosen, self.settings.captions, generator)
            texts = self.pairs.draw(self._generator(update, TEXTS))
            things = names = np.empty(0, np.int64)
            if self.second_dataset is not None:
                things, names = self.second_dataset.draw(self._generator(update, THINGS))
            yield ImageBatch(self.captions.owners[chosen], captions, texts, things, names)

    def _generator(self, update: int, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, update, stream])
