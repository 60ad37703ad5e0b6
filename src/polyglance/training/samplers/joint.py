"""Batches of images with one caption in every language (Gella et al. 2017)."""

from collections.abc import Iterator
from itertools import combinations, count

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import JointSampling, Recipe
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers.base import Sampler, Term, samplers
from polyglance.training.samplers.batches import BatchOrder
from polyglance.training.samplers.captions_by_image import CaptionsByImage, updates_over_captions
from polyglance.training.samplers.grounded import check_grounded

ORDER, DRAWS = 303, 404
"""Streams of random numbers."""


@samplers.register("joint")
class JointSampler(Sampler):
    """A batch of images, with one random caption in each language.

    The losses of all grounded languages against the images are summed (Pivot); `c2c_weight` is
    the weight of all language pairs that include a grounded one (Parallel).
    """

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        assert isinstance(recipe.sampling, JointSampling)
        self.settings, self.seed = recipe.sampling, recipe.training.seed
        check_grounded(self.settings.grounded, self.settings.c2c_weight, data)
        languages = np.array(data.languages[: data.grounded])
        self.codes = sorted(set(languages.tolist()))
        image = data.image[: data.grounded]
        by_language = {code: np.flatnonzero(languages == code) for code in self.codes}
        images = np.unique(image)
        for rows in by_language.values():
            images = np.intersect1d(images, image[rows])
        if not len(images):
            raise PolyglanceError(
                f"sampling.kind=joint: no image has captions in {', '.join(self.codes)}"
            )
        self.runs = {
            code: CaptionsByImage(rows, image, images) for code, rows in by_language.items()
        }
        nothing = np.zeros(len(images))
        self.order = BatchOrder(np.arange(len(images)), nothing, recipe.training, ORDER)
        self.updates_per_epoch = self.order.batches_per_pass
        if self.settings.epoch == "captions":
            size = recipe.training.batch_size
            self.updates_per_epoch = updates_over_captions(self.runs.values(), size)

    def batches(self, start: int) -> Iterator[list[Term]]:
        for update in count(start):
            images = self.order.batch(*divmod(update, self.order.batches_per_pass))
            generator = np.random.default_rng([self.seed, update, DRAWS])
            chosen = {}
            for code, run in self.runs.items():
                place = generator.integers(run.count[images])
                chosen[code] = run.rows[run.first[images] + place]
            terms = [Term(rows) for code, rows in chosen.items() if self._grounded(code)]
            weight = self.settings.c2c_weight
            if weight:
                terms += [
                    Term(chosen[a], chosen[b], weight)
                    for a, b in combinations(self.codes, 2)
                    if self._grounded(a) or self._grounded(b)
                ]
            yield terms

    def _grounded(self, code: str) -> bool:
        return self.settings.grounded is None or code in self.settings.grounded
