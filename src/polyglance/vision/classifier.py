"""The classes of a backbone's classifier, as WordNet synsets."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.files import cache_dir
from polyglance.vision.extraction.extract import open_backbone
from polyglance.vision.extraction.features import parse_feature


class Classifier(NamedTuple):
    """The last layer of a network: logits of C classes are `weight · pooled vector + bias`."""

    weight: np.ndarray  # [C, F]
    bias: np.ndarray  # [C]
    synsets: tuple[str, ...]  # [C], of WordNet 3.0, such as 02084071-n


@cache
def imagenet_synsets() -> tuple[str, ...]:
    """ImageNet's 1,000 classes (ILSVRC 2012) in standard order.

    >>> imagenet_synsets()[0], len(imagenet_synsets())
    ('01440764-n', 1000)
    """
    text = files("polyglance.vision").joinpath("imagenet_synsets.txt").read_text("ascii")
    return tuple(f"{name[1:]}-{name[0]}" for name in text.split())


def classifier_of(feature: str, cache: Path | None = None) -> Classifier:
    """The classifier for a feature EXTRACTOR/global; a network without one is an error."""
    found = open_backbone(parse_feature(feature)[0], cache_dir(cache)).classifier()
    if found is None:
        raise PolyglanceError(
            f"image.head.kind=classes: the network of '{feature}' has no known classifier; "
            "set image.feature to efficientnet-lite2/global or another EfficientNet-Lite"
        )
    weight, bias = found
    return Classifier(weight, bias, imagenet_synsets())
