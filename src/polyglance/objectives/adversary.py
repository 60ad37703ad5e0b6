"""A language classifier with a reversed gradient, to make languages indistinguishable."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return vectors.view_as(vectors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * grads[0], None


def reverse_gradient(vectors: Tensor, strength: float) -> Tensor:
    """Identity whose gradient is multiplied by −strength.

    >>> vectors = torch.ones(2, requires_grad=True)
    >>> reverse_gradient(vectors, 0.5).sum().backward()
    >>> vectors.grad
    tensor([-0.5000, -0.5000])
    """
    return _Reverse.apply(vectors, strength)


def ramp(progress: float) -> float:
    """2/(1 + e^(−10 p)) − 1, rising from 0 to 1 during training.

    >>> [round(ramp(p), 3) for p in (0, 0.1, 0.5, 1)]
    [0.0, 0.462, 0.987, 1.0]
    """
    return 2 / (1 + math.exp(-10 * progress)) - 1


class LanguageClassifier(nn.Linear):
    """Predicts the language of a text from its average word vector.

    The classifier learns at full weight; `strength` scales only the reversed gradient. The authors
    also scale the loss by it, so that the features get its square (about 1e-12 in MULE's code);
    `scaled` does the same.

    >>> classifier, texts = LanguageClassifier(3, 4), torch.zeros(2, 3)
    >>> _ = nn.init.zeros_(classifier.bias)
    >>> round(classifier.loss(texts, torch.tensor([0, 3]), 0.5, 1.0, False).item(), 4)  # log 4
    1.3863
    """

    def loss(
        self, averages: Tensor, languages: Tensor, strength: float, progress: float, scaled: bool
    ) -> Tensor:
        """Cross-entropy of the languages.

        Args:
            averages: [n, W], average word vectors of texts.
            languages: [n], index of each text's language.
            strength: of the reversed gradient.
            progress: share of the training done so far, for `ramp`.
            scaled: whether the loss is also scaled by `strength`.
        """
        logits = self(reverse_gradient(averages, strength * ramp(progress)))
        loss = functional.cross_entropy(logits, languages)
        return strength * loss if scaled else loss
