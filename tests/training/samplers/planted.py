"""Captions that samplers can be asked about, without any image."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyglance.numerics.ragged import Ragged
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers import Sampler, Term, samplers

PER_IMAGE = {"en": 5, "de": 5, "fr": 1, "cs": 1}


def data(
    images: int = 30, per_image: Mapping[str, int] = PER_IMAGE, text_only: int = 0
) -> TrainingData:
    """Every image has as many captions in each language; tuples without one come last."""
    own = [code for code, count in per_image.items() for _ in range(count)]
    image = np.repeat(np.arange(images + text_only), len(own))
    return captions(image, own * (images + text_only), images * len(own))


def captions(image: np.ndarray, languages: list[str], grounded: int | None = None) -> TrainingData:
    """Captions of 3 to 7 ids, with the image [n] and the language of each."""
    lengths = 3 + np.arange(len(image)) % 5
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = Ragged(np.full(offsets[-1], 4, np.int32), offsets)
    count = len(image) if grounded is None else grounded
    features: Any = None
    return TrainingData(ids, image, features, languages, count)


def sampler(source: TrainingData, *overrides: str, recipe: str = "vsepp") -> Sampler:
    """The sampler of a recipe with batches of 10."""
    chosen = load_recipe(recipe, parse_overrides(["training.batch_size=10", *overrides]))
    return samplers.get(chosen.sampling.kind)(chosen, source)


def same(a: list[Term], b: list[Term]) -> bool:
    """Whether two updates rank the same captions."""
    return len(a) == len(b) and all(
        np.array_equal(x.captions, y.captions)
        and (x.others is None) == (y.others is None)
        and (x.others is None or np.array_equal(x.others, np.asarray(y.others)))
        and x.weight == y.weight
        for x, y in zip(a, b, strict=True)
    )
