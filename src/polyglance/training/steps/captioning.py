"""Caption generation in addition to matching (VSRN): in training only."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.models import Model, TwoTower
from polyglance.numerics.precision import to_float32
from polyglance.objectives.captioning import CaptionGenerator
from polyglance.recipes.schema.recipe import one_vector
from polyglance.text.embedders.table import TableEmbedder
from polyglance.training.inputs.data import TrainingData


@dataclass(frozen=True)
class Captioning:
    """The caption generator of a training and its input; the captions are never augmented."""

    generator: CaptionGenerator
    network: TwoTower
    data: TrainingData
    weight: float

    def read(self, captions: np.ndarray) -> tuple[Tensor, Tensor]:
        """Ids [B, T] of the captions [B] to generate, and their lengths [B]."""
        ids, sizes = self.data.ids.pad(captions)
        return torch.from_numpy(ids), torch.from_numpy(sizes)

    def loss(self, vectors: Tensor, lengths: Tensor, words: tuple[Tensor, Tensor]) -> Tensor:
        """The weighted loss of generating captions.

        Args:
            vectors: [B, K, D], the vectors that the images' embeddings pool.
            lengths: [B], vectors per image.
            words: of their captions, from `read`.
        """
        return self.weight * self.generator(to_float32(vectors), lengths, *words)


def build_captioning(model: Model, data: TrainingData) -> Captioning | None:
    """The generator that the recipe's `captioning` section defines; None without it."""
    recipe, network, embedder = model.recipe.captioning, model.network, model.embedder
    if recipe is None:
        return None
    if data.features.form == "global":
        raise PolyglanceError(one_vector("captioning", model.recipe.image.feature))
    assert isinstance(network, TwoTower)
    assert isinstance(embedder, TableEmbedder)
    words = len(embedder.vocabulary(None))
    generator = CaptionGenerator(recipe, model.recipe.joint.dim, words)
    return Captioning(generator, network, data, recipe.weight)
