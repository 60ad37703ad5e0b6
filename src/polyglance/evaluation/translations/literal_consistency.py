"""CLC-C to the letter: all 352 parameters of SMALR's §3.4, without what `consistency` adds.

The reduced form there is what to use; this one shows what the paper's text does.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyglance.evaluation.translations.consistency import (
    HIDDEN,
    ITERATIONS,
    RATE,
    fill_missing,
    matching_loss,
    to_tensors,
)

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LiteralConsistency:
    """|L| → 32 → 1 without biases, ReLU between: `first` [32, L] and `second` [32].

    Neither is the result divided by what the network makes of ones, nor the best of the 30 steps
    chosen. `shift` is added to scores, as in the reduced form.
    """

    first: np.ndarray
    second: np.ndarray
    shift: float = 0.0

    @classmethod
    def uniform(cls, languages: int, shift: float = 0.0) -> "LiteralConsistency":
        """The start, "initialized with uniform weight": the mean of the scores."""
        first = np.full((HIDDEN, languages), 1 / languages, np.float32)
        return cls(first, np.full(HIDDEN, 1 / HIDDEN, np.float32), shift)

    @property
    def parameters(self) -> int:
        """Parameters; 352 for ten languages."""
        return self.first.size + self.second.size

    @property
    def shares(self) -> np.ndarray:
        """What each language counts, [L], relative to all, where all units are active."""
        weights = self.second @ self.first
        return np.asarray(weights / np.abs(weights).sum())

    def combine(self, scores: np.ndarray, present: np.ndarray) -> np.ndarray:
        """One score [n, m] from scores [L, n, m] of captions that have the languages [m, L]."""
        inputs = fill_missing(scores, present) + self.shift
        total = np.zeros(inputs.shape[1:], np.float32)
        for first, second in zip(self.first, self.second, strict=True):
            total += second * np.maximum(np.tensordot(first, inputs, 1), 0)
        return total


def fit_literal(
    scores: np.ndarray,
    caption_image: np.ndarray,
    iterations: int = ITERATIONS,
    rate: float = RATE,
    scaled: bool = False,
) -> LiteralConsistency:
    """Learn all parameters from all scores in every step; the last step's are taken.

    Args:
        scores: [L, N, M] of N images with M captions, those of missing translations filled in.
        caption_image: [M], the image of each caption.
        iterations: of Adam.
        rate: learning rate.
        scaled: whether the loss sees scores divided by what the network makes of ones, as in
            `fit_consistency`. The paper does not say so, and the ranking does not depend on it.
    """
    import torch

    inputs, owner, shift = to_tensors(scores, caption_image)
    start = LiteralConsistency.uniform(len(scores))
    first = torch.from_numpy(start.first).requires_grad_()
    second = torch.from_numpy(start.second).requires_grad_()
    optimizer = torch.optim.Adam([first, second], lr=rate)
    for _ in range(iterations):
        joined = _forward(inputs, first, second)
        if scaled:
            joined = joined / (second * first.sum(1).clamp(min=0)).sum()
        loss = matching_loss(joined, owner)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return LiteralConsistency(first.detach().numpy(), second.detach().numpy(), shift)


def _forward(inputs: "Tensor", first: "Tensor", second: "Tensor") -> "Tensor":
    """[N, M] of inputs [L, N, M]; units are computed again in the backward pass, to save memory."""
    import torch
    from torch.utils.checkpoint import checkpoint

    def unit(weights: "Tensor", out: "Tensor") -> "Tensor":
        return out * torch.tensordot(weights, inputs, 1).clamp(min=0)

    total = inputs.new_zeros(inputs.shape[1:])
    for weights, out in zip(first, second, strict=True):
        total = total + checkpoint(unit, weights, out, use_reentrant=False)
    return total
