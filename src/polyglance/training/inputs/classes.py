"""The start of class vectors: a class is where the text tower puts its English names."""

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
"""Share of the mean that is taken off: names lie in a narrow cone, and classes should differ."""


def start_classes(model: Model, cache: Path | None = None) -> None:
    """Give a fresh model's image tower its classifier and, if it asks, the vectors of names.

    Args:
        model: any; without class vectors there is nothing to do.
        cache: of backbones.
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
                f"{path}: has no English names of ImageNet's classes; image.head.start=names "
                "needs a lexicon on WordNet 3.0's synsets"
            )
        mixture.start(torch.from_numpy(class_vectors(model, own)))


def _narrowest(naming: NamingRecipe | None, classes: int) -> dict[int, list[str]]:
    """Class → the English names of the concept with the fewest classes that it belongs to."""
    if naming is None:
        return {}
    concepts = read_concepts(Path(naming.concepts).expanduser(), classes)
    spoken = [concept for concept in concepts if LANGUAGE in concept.names]
    spoken.sort(key=lambda concept: -len(concept.classes))
    return {number: one.names[LANGUAGE] for one in spoken for number in one.classes}


def class_vectors(model: Model, names: list[list[str]]) -> np.ndarray:
    """Vectors [C, D] of classes: the mean direction of each one's names, centred.

    A class without a name is put where all names are on average.

    Args:
        model: whose text tower reads the names.
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
