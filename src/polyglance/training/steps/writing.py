"""Generating captions beside matching them (VSRN): only in training."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.models import Model, TwoTower
from polyglance.numerics.precision import wide
from polyglance.objectives.captioning import CaptionGenerator
from polyglance.text.embedders.table import TableEmbedder
from polyglance.training.inputs.data import TrainingData


@dataclass(frozen=True)
class Writing:
    """The generator of a training and what it reads; its captions are never augmented."""

    generator: CaptionGenerator
    network: TwoTower
    data: TrainingData
    weight: float

    def read(self, captions: np.ndarray) -> tuple[Tensor, Tensor]:
        """Ids [B, T] of captions [B] to be written, and their lengths [B]."""
        ids, sizes = self.data.ids.pad(captions)
        return torch.from_numpy(ids), torch.from_numpy(sizes)

    def loss(self, vectors: Tensor, lengths: Tensor, words: tuple[Tensor, Tensor]) -> Tensor:
        """The weighted loss of writing captions.

        Args:
            vectors: [B, K, D], what the images' embeddings pool.
            lengths: [B], how many each has.
            words: of their captions, as `read` gives them.
        """
        return self.weight * self.generator(wide(vectors), lengths, *words)


def build_writing(model: Model, data: TrainingData) -> Writing | None:
    """What the recipe's `captioning` asks for; None without it."""
    recipe, network, embedder = model.recipe.captioning, model.network, model.embedder
    if recipe is None:
        return None
    if data.features.form == "global":
        raise PolyglanceError(
            f"captioning reads several vectors of an image, and {model.recipe.image.feature} has "
            "one: set image.feature to a grid or to regions, or captioning=null"
        )
    assert isinstance(network, TwoTower)
    assert isinstance(embedder, TableEmbedder)
    words = len(embedder.vocabulary(None))
    generator = CaptionGenerator(recipe, model.recipe.joint.dim, words)
    return Writing(generator, network, data, recipe.weight)
