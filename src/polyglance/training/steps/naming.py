"""Names of classes and their hypernyms beside captions: a loss on class vectors, without images."""

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
from polyglance.training.distributed import ALONE, Share, Team
from polyglance.vision.mixture import ClassMixture

_STREAM = 0x6E616D65
"""Keeps the draws apart from those of other parts of a training with the same seed."""


class Names(NamedTuple):
    """Shares of classes [B, classes] in an update's concepts, and a name of each.

    Of the names each process embeds its `part`.
    """

    shares: Tensor
    texts: TextBatch
    part: Share


@dataclass(frozen=True)
class Naming:
    """A concept is the mean of its class vectors, and should be near each of its names.

    Concepts that share a class, such as a dog and a terrier, are no negatives of each other.
    """

    model: Model
    mixture: ClassMixture
    recipe: NamingRecipe
    texts: EncodedTexts
    rows: list[list[np.ndarray]]  # by concept and language, the rows of its names in `texts`
    shares: Tensor  # [concepts, classes], rows that sum to 1

    def read(self, update: int, team: Team = ALONE) -> Names:
        """The concepts and names of an update, the same after a resumption."""
        concepts, names = self.draw(update)
        ids, lengths = (torch.from_numpy(part) for part in self.texts.ids.pad(names))
        part = team.share(len(names))
        texts = TextBatch(ids[part.rows], lengths[part.rows], self.texts.unseen)
        return Names(self.shares[concepts], texts, part)

    def loss(self, names: Names, objective: Objective, warming_up: bool) -> tuple[Tensor, float]:
        """The weighted loss of an update's concepts, and what it is of a collapsed model.

        Args:
            names: as `read` gives them.
            objective: that of images and captions.
            warming_up: as the objective takes it.
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
        """Concepts [B] of an update, and for each the row of a name: of any language alike."""
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
    """What the recipe's `naming` asks for; None without it."""
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
    """Concepts with the names of some languages; those without such a name are left out."""
    if languages is None:
        return concepts
    found = [
        Concept(one.synset, one.classes, {k: v for k, v in one.names.items() if k in languages})
        for one in concepts
    ]
    found = [concept for concept in found if concept.names]
    if len(found) < 2:
        raise PolyglanceError(f"{path}: names no two concepts in {', '.join(languages)}")
    return found
