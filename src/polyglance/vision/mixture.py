"""Images as mixtures of class vectors: ConSE, with trained vectors.

Norouzi et al. 2014, "Zero-Shot Learning by Convex Combination of Semantic Embeddings", eq. 3: an
image is the sum over its most probable classes of p(class | image) · embedding of the class's
name. So an image of something that no caption names is close to the names of what it resembles.
"""

import math

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.numerics.products import linear
from polyglance.recipes.schema import ClassesHead, HeadRecipe
from polyglance.vision.classifier import Classifier


class ClassMixture(nn.Module):
    """From the probabilities of a pretrained classifier to a mixture of trained class vectors.

    The classifier is frozen and saved with the model, so that a model does not need its backbone's
    package; until `use` sets one, all classes are equally probable.

    Args:
        settings: number of classes C and how they are mixed.
        inputs: F, dimension of a feature.
        outputs: D, dimension of a class vector.
    """

    weight: Tensor  # [C, F]
    bias: Tensor  # [C]

    def __init__(self, settings: ClassesHead, inputs: int, outputs: int) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("weight", torch.zeros(settings.classes, inputs))
        self.register_buffer("bias", torch.zeros(settings.classes))
        self.vectors = nn.Parameter(torch.empty(settings.classes, outputs))
        nn.init.normal_(self.vectors, std=0.1 / math.sqrt(outputs))

    def use(self, classifier: Classifier) -> None:
        """Set the classifier; one of another shape is an error."""
        found, wanted = classifier.weight.shape, tuple(self.weight.shape)
        if found != wanted:
            raise PolyglanceError(
                f"image.head: the network has {found[0]} classes of dimension {found[1]}, but "
                f"the head takes {wanted[0]} of {wanted[1]}; set image.head.classes={found[0]} "
                "and use a feature of that network"
            )
        self.weight.copy_(torch.from_numpy(classifier.weight))
        self.bias.copy_(torch.from_numpy(classifier.bias))

    def start(self, vectors: Tensor) -> None:
        """Initialise the class vectors [C, D]."""
        with torch.no_grad():
            self.vectors.copy_(vectors)

    def logits(self, features: Tensor) -> Tensor:
        """Features [n, F] as extracted → [n, C]."""
        return linear(features, self.weight, self.bias)

    def probabilities(self, features: Tensor) -> Tensor:
        """Features [n, F] as extracted → probabilities [n, C], 0 for improbable classes.

        The `top` largest of softmax(logits / temperature), scaled to sum to 1.
        """
        logits = self.logits(features)
        top = min(self.settings.top, self.settings.classes)
        least = logits.topk(top, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
        return torch.softmax(logits / self.settings.temperature, dim=-1)

    def forward(self, features: Tensor) -> Tensor:
        """Features [n, F] as extracted → [n, D]."""
        return self.probabilities(features) @ self.vectors


def build_mixture(recipe: HeadRecipe, inputs: int, outputs: int) -> ClassMixture | None:
    """The class mixture of a head; None for most heads.

    Args:
        recipe: the section `image.head`.
        inputs: F, the dimension of a feature vector.
        outputs: D, the dimension of the joint space.
    """
    return ClassMixture(recipe, inputs, outputs) if isinstance(recipe, ClassesHead) else None
