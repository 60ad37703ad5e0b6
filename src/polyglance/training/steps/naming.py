"""Names of classes and hypernyms: a loss on class vectors without images, besides captions."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.models.networks.similarity import l2
from polyglance.numerics.precision import autocast
from polyglance.objectives.objective import Objective
from polyglance.recipes.schema import NamingRecipe
from polyglance.text.concepts import Concept, read_concepts
from polyglance.text.embedders import EncodedTexts, TextBatch
from polyglance.training.distributed import SINGLE, Share, World
from polyglance.vision.mixture import ClassMixture

_STREAM = 0x6E616D65
"""Stream of random numbers, distinct from those of other parts of a training."""


class Names(NamedTuple):
    """Shares of classes [B, classes] in an update's concepts, and a name for each.

    Each process embeds its `part` of the names.
    """

    shares: Tensor
    texts: TextBatch
    part: Share


@dataclass(frozen=True)
class Naming:
    """A concept is the mean of its class vectors, and should be close to each of its names.

    Concepts that share a class, such as dog and terrier, are not negatives of each other.
    """

    model: Model
    mixture: ClassMixture
    recipe: NamingRecipe
    texts: EncodedTexts
    rows: list[list[np.ndarray]]  # rows of names in `texts`, by concept and language
    shares: Tensor  # [concepts, classes], rows that sum to 1

    def read(self, update: int, world: World = SINGLE) -> Names:
        """The concepts and names of an update, reproducible after a resumption."""
        concepts, names = self.draw(update)
        ids, lengths = (torch.from_numpy(part) for part in self.texts.ids.pad(names))
        part = world.share(len(names))
        texts = TextBatch(ids[part.rows], lengths[part.rows], self.texts.unseen)
        return Names(self.shares[concepts], texts, part)

    def loss(self, names: Names, objective: Objective, warming_up: bool) -> tuple[Tensor, float]:
        """The weighted loss of an update's concepts, and that of a collapsed model.

        Args:
            names: from `read`.
            objective: the same as for images and captions.
            warming_up: passed to the objective.
        """
        model, chosen = self.model, names.shares
        images = l2(chosen @ self.mixture.vectors)
        with autocast(model.recipe.training.precision, model.device):
            captions = model.network.embed_text(names.texts)
        scores = model.network.scores(images, names.part.gather(captions))
        overlap = (chosen @ chosen.t()) > 0
        weight, size = self.recipe.weight, len(chosen)
        collapsed = weight * objective.collapsed_value(size, warming_up)
        return weight * objective.loss(scores, overlap, warming_up), collapsed

    def draw(self, update: int) -> tuple[np.ndarray, np.ndarray]:
        """Concepts [B] of an update, and the row of a name for each; languages equally likely."""
        seed = self.model.recipe.training.seed
        generator = np.random.default_rng([seed, _STREAM, update])
        size = min(self.recipe.batch, len(self.rows))
        concepts = generator.choice(len(self.rows), size, replace=False)
        names = []
        for concept in concepts:
            languages = self.rows[concept]
            own = languages[generator.integers(len(languages))]
            names.append(own[generator.integers(len(own))])
        return concepts, np.array(names, np.int64)


def build_naming(model: Model) -> Naming | None:
    """The loss that the recipe's `naming` section defines; None without it."""
    recipe, mixture = model.recipe.naming, model.network.image.classes
    if recipe is None or mixture is None:
        return None
    path = Path(recipe.concepts).expanduser()
    concepts = _spoken(read_concepts(path, mixture.settings.classes), recipe.languages, path)
    texts: list[str] = []
    codes: list[str] = []
    rows: list[list[np.ndarray]] = []
    for concept in concepts:
        own = []
        for code, names in concept.names.items():
            own.append(np.arange(len(texts), len(texts) + len(names)))
            texts += names
            codes += [code] * len(names)
        rows.append(own)
    shares = torch.zeros(len(concepts), mixture.settings.classes)
    for number, concept in enumerate(concepts):
        shares[number, concept.classes] = 1 / len(concept.classes)
    return Naming(model, mixture, recipe, model.tokens(texts, codes), rows, shares)


def _spoken(concepts: list[Concept], languages: list[str] | None, path: Path) -> list[Concept]:
    """Concepts with the names of some languages; those without any are left out."""
    if languages is None:
        return concepts
    found = [
        Concept(one.synset, one.classes, {k: v for k, v in one.names.items() if k in languages})
        for one in concepts
    ]
    found = [concept for concept in found if concept.names]
    if len(found) < 2:
        raise PolyglanceError(f"{path}: has no two concepts with names in {', '.join(languages)}")
    return found
