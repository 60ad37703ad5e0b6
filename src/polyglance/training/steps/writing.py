"""Generating captions beside matching them (VSRN): only in training."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.models import Model, TwoTower
from polyglance.objectives.captioning import CaptionGenerator
from polyglance.text.embedders.table import TableEmbedder
from polyglance.training.data import TrainingData


@dataclass(frozen=True)
class Writing:
    """The generator of a training and what it reads; its captions are never augmented."""

    generator: CaptionGenerator
    network: TwoTower
    data: TrainingData
    weight: float

    def images(self, parts: tuple[Tensor, ...], captions: np.ndarray) -> tuple[Tensor, Tensor]:
        """Embeddings [B, D] of images, and the weighted loss of writing their captions.

        Args:
            parts: sets of features [B, K, F] with lengths [B].
            captions: [B], one of each image.
        """
        embeddings, vectors = self.network.embed_with_vectors(*parts)
        ids, sizes = self.data.ids.pad(captions)
        words, lengths = torch.from_numpy(ids), torch.from_numpy(sizes)
        return embeddings, self.weight * self.generator(vectors, parts[1], words, lengths)


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
