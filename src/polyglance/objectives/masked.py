"""Masked cross-language modelling (SMALR §3.2): a caption helps to complete its translation."""

import numpy as np
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, linear

TINY = 1e-8


class PairPredictor(nn.Linear):
    """Both captions' missing parts from both masked captions, one layer for all pairs."""

    def __init__(self, size: int) -> None:
        super().__init__(2 * size, 2 * size)

    def loss(
        self,
        whole: Tensor,
        masked: Tensor,
        has: Tensor,
        detach: bool = False,
        reduction: str = "sum",
    ) -> Tensor:
        """‖ℓ2(Sᵐ + S') − ℓ2(S)‖ of both captions of a pair of languages, a mean over captions.

        Args:
            whole: [L, B, k, D], captions.
            masked: [L, B, k, D], the same with masked words.
            has: [L, B] bool, which images have a language; a pair needs both.
            detach: no gradient to the whole captions.
            reduction: the sum or mean over pairs of languages that any image has.

        Captions without masked words, to which nothing is added, are complete but for `TINY`:

        >>> import torch
        >>> predictor, captions = PairPredictor(2), torch.ones(2, 1, 1, 2)
        >>> _ = [nn.init.zeros_(part) for part in predictor.parameters()]
        >>> round(predictor.loss(captions, captions, torch.ones(2, 1, dtype=torch.bool)).item(), 2)
        0.0
        """
        target = whole.detach() if detach else whole
        size = whole.shape[3]
        # The layer is linear: what a caption adds to a pair is computed once, not in every pair.
        first = linear(masked, self.weight[:, :size])
        second = linear(masked, self.weight[:, size:], self.bias)
        total = pairs = whole.new_zeros(())
        for one in range(len(whole) - 1):
            rest = slice(one + 1, None)
            added_first, added_second = (first[one] + second[rest]).chunk(2, -1)
            errors = _apart(masked[one] + added_first, target[one])
            errors = errors + _apart(masked[rest] + added_second, target[rest])
            both = has[one] & has[rest]  # [R, B]
            means = (errors * both.unsqueeze(2)).sum((1, 2)) / errors.shape[2]
            total = total + (means / both.sum(1).clamp(min=1)).sum()
            pairs = pairs + both.any(1).sum()
        return total / pairs.clamp(min=1) if reduction == "mean" else total


def _apart(predicted: Tensor, whole: Tensor) -> Tensor:
    """‖ℓ2(a) − ℓ2(b)‖ = √(2 − 2 cos): [..., D] → [...]."""
    cosine = cosine_similarity(predicted, whole, dim=-1)
    return (2 - 2 * cosine).clamp(min=0).add(TINY).sqrt()


def hide_words(
    lengths: np.ndarray, width: int, share: float, generator: np.random.Generator
) -> np.ndarray:
    """Which words of texts are masked, [n, width] bool; at least one word of each stays.

    Args:
        lengths: [n], words of each text.
        width: that the texts are padded to.
        share: chance of a word to be masked.
        generator: of the draws.

    >>> hide_words(np.array([2, 1]), 3, 1.0, np.random.default_rng(0)).sum(1).tolist()
    [1, 0]
    """
    inside = np.arange(width) < lengths[:, None]
    draw = np.where(inside, generator.random(inside.shape), -1.0)
    hidden = inside & (draw < share)
    hidden[np.arange(len(draw)), draw.argmax(1)] = False
    return hidden
