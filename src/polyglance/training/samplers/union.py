"""Captions of all languages, shuffled together."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from polyglance.recipes.schema import Recipe
from polyglance.training.data import TrainingData
from polyglance.training.samplers.base import Sampler, Term, samplers
from polyglance.training.samplers.batches import BatchOrder


@samplers.register("union")
class UnionSampler(Sampler):
    """All captions of all languages, shuffled together."""

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        rows = np.arange(data.grounded)
        self.order = BatchOrder(rows, data.lengths[rows], recipe.training, 0)
        self.updates_per_epoch = self.order.batches_per_pass

    def batches(self, start: int) -> Iterator[list[Term]]:
        for update in count(start):
            yield [Term(self.order.batch(*divmod(update, self.updates_per_epoch)))]
