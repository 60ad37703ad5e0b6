"""Samplers: the batches of a run, determined by the seed and the number of the update."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyglance.core.registry import Registry
from polyglance.recipes.schema import Recipe
from polyglance.training.inputs.data import TrainingData


@dataclass(frozen=True, slots=True)
class Term:
    """One loss of an update: captions [B] against their images, or against other captions [B]."""

    captions: np.ndarray
    others: np.ndarray | None = None
    weight: float = 1.0


class Sampler(ABC):
    """An endless sequence of batches; an epoch has as many as all captions with images fill."""

    updates_per_epoch: int

    @abstractmethod
    def batches(self, start: int) -> Iterator[Any]:
        """Batches from update number `start` on, in the form that the `Step` expects."""


samplers: Registry[Callable[[Recipe, TrainingData], Sampler]] = Registry("sampler")
"""By `sampling.kind`."""
