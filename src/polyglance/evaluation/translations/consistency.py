"""Cross-lingual consistency: combines the scores of a query's translations (SMALR, §3.4).

CLC-A is their mean; CLC-C a small network trained on the validation split. `literal_consistency`
has the network with all parameters, exactly as described in the paper.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

HIDDEN, ITERATIONS, RATE = 32, 30, 1e-2
MARGIN, TOP, CAPTION_WEIGHT = 0.05, 10, 1.5
"""SMALR's matching loss (§3.3): margin, negatives per anchor, weight of caption anchors."""


def average_scores(scores: np.ndarray, present: np.ndarray) -> np.ndarray:
    """CLC-A: mean [n, m] of scores [L, n, m] over the languages present, [m, L] bool.

    >>> scores = np.array([[[1.0, 4.0]], [[3.0, 9.0]]])
    >>> average_scores(scores, np.array([[True, True], [True, False]])).tolist()
    [[2.0, 4.0]]
    """
    weights = present.T / np.maximum(present.sum(1), 1)
    return np.asarray(np.einsum("lnm,lm->nm", scores, weights.astype(scores.dtype)))


def fill_missing(scores: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Fill the scores [L, n, m] of missing translations with the mean of the others."""
    return np.where(present.T[:, None, :], scores, average_scores(scores, present))


@dataclass(frozen=True)
class Consistency:
    """CLC-C: |L| → 32 → 1 without biases, ReLU between, divided by its output for ones.

    Without the division, the hinge loss of scores that often violate the margin is smallest if all
    scores are equal, and 30 steps lead there. The network is homogeneous, so the division changes
    no ranking. All weights start equal and are trained on all pairs at once, so the 32 units stay
    equal, and the second layer cancels: `first` [L] are the weights of each unit. `shift` is added
    to the scores, because a ReLU would make all negative ones equal.
    """

    first: np.ndarray
    shift: float = 0.0

    @classmethod
    def uniform(cls, languages: int, shift: float = 0.0) -> "Consistency":
        """Initial weights: the mean of the scores."""
        return cls(np.full(languages, 1 / languages, np.float32), shift)

    @property
    def parameters(self) -> int:
        """Number of parameters; 352 for ten languages."""
        return len(self.first) * HIDDEN + HIDDEN

    @property
    def shares(self) -> np.ndarray:
        """Relative weight of each language, [L]."""
        return np.asarray(self.first / np.abs(self.first).sum())

    def combine(self, scores: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Combine scores [L, n, m] of captions with the languages present [m, L] to [n, m]."""
        units = np.tensordot(self.first, fill_missing(scores, present) + self.shift, 1)
        return np.asarray(np.maximum(units, 0) / self.first.sum(), np.float32)


def fit_consistency(
    scores: np.ndarray,
    caption_image: np.ndarray,
    iterations: int = ITERATIONS,
    rate: float = RATE,
) -> Consistency:
    """Train CLC-C on all scores in every step; returns the weights with the lowest loss.

    Args:
        scores: [L, N, M] of N images with M captions, those of missing translations filled in.
        caption_image: [M], the image of each caption.
        iterations: of Adam; the initial weights may turn out best.
        rate: learning rate.
    """
    import torch

    inputs, owner, shift = to_tensors(scores, caption_image)
    first = torch.from_numpy(Consistency.uniform(len(scores)).first).requires_grad_()
    optimizer = torch.optim.Adam([first], lr=rate)
    least, best = float("inf"), first.detach().clone()
    for step in range(iterations + 1):
        if (total := first.sum()) <= 0:
            break
        loss = matching_loss(torch.tensordot(first, inputs, 1).clamp(min=0) / total, owner)
        if float(loss.detach()) < least:
            least, best = float(loss.detach()), first.detach().clone()
        if step < iterations:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Consistency(best.numpy(), shift)


def to_tensors(scores: np.ndarray, caption_image: np.ndarray) -> tuple["Tensor", "Tensor", float]:
    """Scores, shifted to be non-negative, the image of each caption, and the shift."""
    import torch

    shift = max(0.0, -float(scores.min()))
    inputs = torch.from_numpy(np.asarray(scores, np.float32)) + shift
    return inputs, torch.from_numpy(np.asarray(caption_image, np.int64)), shift


def matching_loss(scores: "Tensor", owner: "Tensor") -> "Tensor":
    """SMALR's L_mm of scores [N, M] whose captions belong to images `owner` [M].

    Every caption and its image are a positive pair twice: against the highest-scoring other images,
    and against the highest-scoring captions of other images.
    """
    import torch

    own = owner == torch.arange(len(scores), device=scores.device)[:, None]
    positive = scores.gather(0, owner[None])[0]
    negatives = scores.masked_fill(own, -torch.inf)
    images = negatives.topk(min(TOP, len(scores) - 1), dim=0).values  # [k, M]
    captions = negatives.topk(min(TOP, _fewest(own)), dim=1).values[owner].T
    by_caption = (MARGIN - positive + images).clamp(min=0).mean()
    by_image = (MARGIN - positive + captions).clamp(min=0).mean()
    return CAPTION_WEIGHT * by_caption + by_image


def _fewest(own: "Tensor") -> int:
    """The smallest number of negative captions of an image."""
    return int((~own).sum(1).min())
