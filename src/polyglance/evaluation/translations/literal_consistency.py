"""CLC-C exactly as in SMALR's §3.4: all 352 parameters, without the changes in `consistency`.

Use the reduced form there; this one is to compare with the paper's text.
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

    The result is not divided by the output for ones, and the last of the 30 steps is used instead
    of the best. `shift` is added to the scores, as in the reduced form.
    """

    first: np.ndarray
    second: np.ndarray
    shift: float = 0.0

    @classmethod
    def uniform(cls, languages: int, shift: float = 0.0) -> "LiteralConsistency":
        """Initial weights ("initialized with uniform weight"): the mean of the scores."""
        first = np.full((HIDDEN, languages), 1 / languages, np.float32)
        return cls(first, np.full(HIDDEN, 1 / HIDDEN, np.float32), shift)

    @property
    def parameters(self) -> int:
        """Number of parameters; 352 for ten languages."""
        return self.first.size + self.second.size

    @property
    def shares(self) -> np.ndarray:
        """Relative weight of each language, [L], if all units are active."""
        weights = self.second @ self.first
        return np.asarray(weights / np.abs(weights).sum())

    def combine(self, scores: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Combine scores [L, n, m] of captions with the languages present [m, L] to [n, m]."""
        inputs = fill_missing(scores, present) + self.shift
        total = np.zeros(inputs.shape[1:], np.float32)
        for first, second in zip(self.first, self.second, strict=True):
            total += second * np.maximum(np.tensordot(first, inputs, 1), 0)
        return total


def fit_literal(
    scores: np.ndarray,
    caption_image: np.ndarray,
    iterations: int = ITERATIONS,
    scaled: bool = False,
) -> LiteralConsistency:
    """Train all parameters on all scores in every step; returns those of the last step.

    Args:
        scores: [L, N, M] of N images with M captions, those of missing translations filled in.
        caption_image: [M], the image of each caption.
        iterations: of Adam.
        scaled: whether the loss divides scores by the network's output for ones, as in
            `fit_consistency`. The paper does not say so, and it does not affect the ranking.
    """
    import torch

    inputs, owner, shift = to_tensors(scores, caption_image)
    start = LiteralConsistency.uniform(len(scores))
    first = torch.from_numpy(start.first).requires_grad_()
    second = torch.from_numpy(start.second).requires_grad_()
    optimizer = torch.optim.Adam([first, second], lr=RATE)
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
    """Inputs [L, N, M] → [N, M]; units are recomputed in the backward pass to save memory."""
    import torch
    from torch.utils.checkpoint import checkpoint

    def unit(weights: "Tensor", out: "Tensor") -> "Tensor":
        return out * torch.tensordot(weights, inputs, 1).clamp(min=0)

    total = inputs.new_zeros(inputs.shape[1:])
    for weights, out in zip(first, second, strict=True):
        total = total + checkpoint(unit, weights, out, use_reentrant=False)
    return total
