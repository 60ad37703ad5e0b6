"""Samplers: what every update of a run is made of, the same for the same seed from any start."""

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
    """An endless sequence of batches. An epoch is as many as all captions with images fill."""

    updates_per_epoch: int

    @abstractmethod
    def batches(self, start: int) -> Iterator[Any]:
        """Batches from update number `start` on, each as its `Step` takes it."""


samplers: Registry[Callable[[Recipe, TrainingData], Sampler]] = Registry("sampler")
"""By `sampling.kind`."""
