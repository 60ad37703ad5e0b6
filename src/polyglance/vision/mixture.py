"""Images as mixtures of class vectors: ConSE, with vectors that are trained on.

Norouzi et al. 2014, "Zero-Shot Learning by Convex Combination of Semantic Embeddings", eq. 3: an
image is the sum over its most probable classes of p(class | image) · embedding of the class's
name. So an image of a thing that no caption names lands beside names of what it resembles.
"""

import math

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.numerics.products import linear
from polyglance.recipes.schema import ClassesHead, HeadRecipe
from polyglance.vision.classifier import Classifier


class ClassMixture(nn.Module):
    """A feature as the classifier of its network sees it → a mixture of trained vectors.

    The classifier is frozen and saved with the model, so that a model is whole without its
    backbone's package; until `use` gives one, all classes are equally probable.
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
        """Take a network's classifier; one of other sizes is an error."""
        found, wanted = classifier.weight.shape, tuple(self.weight.shape)
        if found != wanted:
            raise PolyglanceError(
                f"image.head: the network has {found[0]} classes of {found[1]} numbers each, and "
                f"the head takes {wanted[0]} of {wanted[1]}; set image.head.classes={found[0]} "
                "and leave image.feature as the network gives it"
            )
        self.weight.copy_(torch.from_numpy(classifier.weight))
        self.bias.copy_(torch.from_numpy(classifier.bias))

    def start(self, vectors: Tensor) -> None:
        """Begin with class vectors [C, D]."""
        with torch.no_grad():
            self.vectors.copy_(vectors)

    def logits(self, features: Tensor) -> Tensor:
        """Features [n, F] as extracted → [n, C]."""
        return linear(features, self.weight, self.bias)

    def probabilities(self, features: Tensor) -> Tensor:
        """Features [n, F] as extracted → [n, C]: of the most probable classes, 0 elsewhere.

        softmax(logits / temperature), whose largest `top` are scaled to the sum 1.
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
    """What the head of a recipe adds to its layers; None for most.

    Args:
        recipe: the section `image.head`.
        inputs: F, the dimension of a feature vector.
        outputs: D, the dimension of the joint space.
    """
    return ClassMixture(recipe, inputs, outputs) if isinstance(recipe, ClassesHead) else None
