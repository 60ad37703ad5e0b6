"""Initial class vectors: the text tower's embeddings of the classes' English names."""

from pathlib import Path

import numpy as np
import torch

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes.schema import NamingRecipe
from polyglance.text.concepts import read_concepts
from polyglance.text.lexicon import Lexicon, lexicon_path
from polyglance.vision.classifier import classifier_of

LANGUAGE = "en"
CENTRED = 0.7
"""Share of the mean to subtract: names lie in a narrow cone, but classes should differ."""


def initialise_classes(model: Model, cache: Path | None = None) -> None:
    """Give a new model's image tower its classifier and, if configured, the vectors of names.

    Args:
        model: any; nothing is done without class vectors.
        cache: folder for backbones.
    """
    mixture = model.network.image.classes
    if mixture is None:
        return
    classifier = classifier_of(model.recipe.image.feature, cache)
    mixture.use(classifier)
    settings = mixture.settings
    if settings.start == "names":
        path = lexicon_path(settings.lexicon, "image.head.start=names", option="image.head.lexicon")
        names = Lexicon.open(path).lemmas(LANGUAGE)
        above = _narrowest(model.recipe.naming, len(classifier.synsets))
        own = [
            names.get(synset) or above.get(number, [])
            for number, synset in enumerate(classifier.synsets)
        ]
        if not any(own):
            raise PolyglanceError(
                f"{path}: has no English names for ImageNet's classes; image.head.start=names "
                "needs a lexicon on WordNet 3.0's synsets"
            )
        mixture.start(torch.from_numpy(class_vectors(model, own)))


def _narrowest(naming: NamingRecipe | None, classes: int) -> dict[int, list[str]]:
    """Class → English names of its most specific concept, the one with the fewest classes."""
    if naming is None:
        return {}
    concepts = read_concepts(Path(naming.concepts).expanduser(), classes)
    spoken = [concept for concept in concepts if LANGUAGE in concept.names]
    spoken.sort(key=lambda concept: -len(concept.classes))
    return {number: one.names[LANGUAGE] for one in spoken for number in one.classes}


def class_vectors(model: Model, names: list[list[str]]) -> np.ndarray:
    """Class vectors [C, D]: the mean direction of each class's names, centred.

    A class without a name gets the mean over all names.

    Args:
        model: whose text tower encodes the names.
        names: of each class, in English.
    """
    texts = [name for own in names for name in own]
    owner = np.repeat(np.arange(len(names)), [len(own) for own in names])
    embedded = np.asarray(model.encode_tokens(model.tokens(texts, LANGUAGE), LANGUAGE))
    sums = np.zeros((len(names), embedded.shape[1]), np.float32)
    np.add.at(sums, owner, embedded)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    named = lengths[:, 0] > 0
    vectors = np.divide(sums, lengths, out=sums, where=lengths > 0)
    mean = vectors[named].mean(0)
    vectors[~named] = mean
    return vectors - CENTRED * mean
