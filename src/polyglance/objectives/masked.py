"""Masked cross-language modelling (SMALR §3.2): a caption helps to complete its translation."""

import numpy as np
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, linear

TINY = 1e-8


class PairPredictor(nn.Linear):
    """Predicts what is masked in two captions from both; one layer for all language pairs."""

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
        """‖ℓ2(Sᵐ + S') − ℓ2(S)‖ for both captions of a language pair, averaged over captions.

        Args:
            whole: [L, B, k, D], captions.
            masked: [L, B, k, D], the same with masked words.
            has: [L, B] bool, which images have a language; a pair needs both.
            detach: whether to block the gradient to the unmasked captions.
            reduction: sum or mean over the language pairs that any image has.

        Without masked words and with a zero layer, the loss is 0 up to `TINY`:

        >>> import torch
        >>> predictor, captions = PairPredictor(2), torch.ones(2, 1, 1, 2)
        >>> _ = [nn.init.zeros_(part) for part in predictor.parameters()]
        >>> round(predictor.loss(captions, captions, torch.ones(2, 1, dtype=torch.bool)).item(), 2)
        0.0
        """
        target = whole.detach() if detach else whole
        size = whole.shape[3]
        # The layer is linear, so each caption's contribution is computed once, not once per pair.
        first = linear(masked, self.weight[:, :size])
        second = linear(masked, self.weight[:, size:], self.bias)
        total = pairs = whole.new_zeros(())
        for one in range(len(whole) - 1):
            rest = slice(one + 1, None)
            added_first, added_second = (first[one] + second[rest]).chunk(2, -1)
            errors = _distance(masked[one] + added_first, target[one])
            errors = errors + _distance(masked[rest] + added_second, target[rest])
            both = has[one] & has[rest]  # [R, B]
            means = (errors * both.unsqueeze(2)).sum((1, 2)) / errors.shape[2]
            total = total + (means / both.sum(1).clamp(min=1)).sum()
            pairs = pairs + both.any(1).sum()
        return total / pairs.clamp(min=1) if reduction == "mean" else total


def _distance(predicted: Tensor, whole: Tensor) -> Tensor:
    """‖ℓ2(a) − ℓ2(b)‖ = √(2 − 2 cos): [..., D] → [...]."""
    cosine = cosine_similarity(predicted, whole, dim=-1)
    return (2 - 2 * cosine).clamp(min=0).add(TINY).sqrt()


def hide_words(
    lengths: np.ndarray, width: int, share: float, generator: np.random.Generator
) -> np.ndarray:
    """Draw the words to mask, [n, width] bool; at least one word of each text stays.

    Args:
        lengths: [n], words of each text.
        width: the padded length.
        share: probability that a word is masked.
        generator: of random numbers.

    >>> hide_words(np.array([2, 1]), 3, 1.0, np.random.default_rng(0)).sum(1).tolist()
    [1, 0]
    """
    inside = np.arange(width) < lengths[:, None]
    draw = np.where(inside, generator.random(inside.shape), -1.0)
    hidden = inside & (draw < share)
    hidden[np.arange(len(draw)), draw.argmax(1)] = False
    return hidden
