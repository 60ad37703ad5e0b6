"""Batches in one language at a time, drawn at random (Kádár et al. 2018, Figure 2)."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import LanguageSampling, Recipe
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers.base import Sampler, Term, samplers
from polyglance.training.samplers.batches import BatchOrder
from polyglance.training.samplers.grounded import check_grounded, grounded_rows
from polyglance.training.samplers.pairs import caption_pairs

CHOICES, PAIRS = 202, 500
"""Streams of random numbers: for the task of an update, and for the orders of pairs."""


@samplers.register("languages")
class LanguageSampler(Sampler):
    """Draws a task; for captions against images also a language, each with its own order."""

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        assert isinstance(recipe.sampling, LanguageSampling)
        self.recipe, self.settings = recipe, recipe.sampling
        check_grounded(self.settings.grounded, self.settings.c2c, data)
        languages = np.array(data.languages)
        ranked = grounded_rows(self.settings.grounded, data)
        codes = sorted(set(languages[: data.grounded][ranked].tolist()))
        parts = [np.flatnonzero(languages[: data.grounded] == code) for code in codes]
        self.orders = [
            BatchOrder(rows, data.lengths[rows], recipe.training, 1 + index)
            for index, rows in enumerate(parts)
        ]
        self.updates_per_epoch = sum(order.batches_per_pass for order in self.orders)
        self.pairs = self._pair_orders(data) if self.settings.c2c else []

    def batches(self, start: int) -> Iterator[list[Term]]:
        generator = np.random.default_rng([self.recipe.training.seed, CHOICES])
        orders = [*self.orders, *self.pairs]
        passes, places = [0] * len(orders), [0] * len(orders)
        for update in count():
            chosen = int(generator.integers(len(self.orders)))
            if generator.random() < self.settings.c2c:
                chosen = len(self.orders) + int(generator.integers(len(self.pairs)))
            if update >= start:
                rows = orders[chosen].batch(passes[chosen], places[chosen])
                yield [Term(rows) if rows.ndim == 1 else Term(rows[:, 0], rows[:, 1])]
            places[chosen] += 1
            if places[chosen] == orders[chosen].batches_per_pass:
                again = range(len(self.orders)) if self._restarts_all(chosen) else [chosen]
                for index in again:
                    passes[index], places[index] = passes[index] + 1, 0

    def _restarts_all(self, chosen: int) -> bool:
        return self.recipe.compat.reshuffle_all and chosen < len(self.orders)

    def _pair_orders(self, data: TrainingData) -> list[BatchOrder]:
        """Orders of caption pairs: one for all, or one per language pair if towers are separate."""
        pairs, codes = caption_pairs(data.image, data.languages), np.array(data.languages)
        if self.settings.grounded is not None:
            pairs = pairs[np.isin(codes, self.settings.grounded)[pairs].any(1)]
        if not len(pairs):
            raise PolyglanceError(
                "sampling.c2c: no image has captions in two of the languages trained on"
            )
        groups = [np.ones(len(pairs), bool)]
        if self.recipe.text.towers == "per-language":
            named = np.char.add(np.char.add(codes[pairs[:, 0]], " "), codes[pairs[:, 1]])
            groups = [named == name for name in sorted(set(named.tolist()))]
        return [
            BatchOrder(
                pairs[group], data.lengths[pairs[group]].max(1), self.recipe.training, PAIRS + index
            )
            for index, group in enumerate(groups)
        ]
