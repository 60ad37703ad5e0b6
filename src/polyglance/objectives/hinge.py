"""Triplet hinge losses on a score matrix (Faghri et al. 2018, VSE++).

The sum is also in Liu et al. 2019, §2, the maximum in Kádár et al. 2018, §3.
"""

import torch
from torch import Tensor


def hinge_costs(
    scores: Tensor, margin: float, ignore: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Costs of wrong captions for images (rows) and of wrong images for captions (columns).

    Args:
        scores: [B, B], S[i, j] = s(image_i, caption_j); positives on the diagonal.
        margin: α, by how much a positive must exceed a negative.
        ignore: [B, B] bool, pairs that are not negatives; the diagonal never is.

    Returns:
        cost_s [B, B] = [α − S[i,i] + S[i,j]]+ and cost_im [B, B] = [α − S[j,j] + S[i,j]]+.

    >>> captions, images = hinge_costs(torch.tensor([[1.0, 0.5], [0.0, 0.25]]), margin=0.5)
    >>> captions.tolist(), images.tolist()
    ([[0.0, 0.0], [0.25, 0.0]], [[0.0, 0.75], [0.0, 0.0]])
    """
    positive = scores.diagonal()
    skip = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    if ignore is not None:
        skip = skip | ignore
    captions = (margin - positive[:, None] + scores).clamp(min=0).masked_fill(skip, 0)
    images = (margin - positive[None, :] + scores).clamp(min=0).masked_fill(skip, 0)
    return captions, images


def sum_of_hinges(scores: Tensor, margin: float = 0.2, ignore: Tensor | None = None) -> Tensor:
    """VSE0: every negative counts. Summed over the batch, as in all official code.

    Args:
        scores: [B, B], as in `hinge_costs`.
        margin: by how much a positive must exceed a negative.
        ignore: [B, B] bool, pairs that are not negatives.

    >>> float(sum_of_hinges(torch.eye(2), margin=0.2))
    0.0
    """
    captions, images = hinge_costs(scores, margin, ignore)
    return captions.sum() + images.sum()


def max_of_hinges(scores: Tensor, margin: float = 0.2, ignore: Tensor | None = None) -> Tensor:
    """VSE++: only the hardest negative of each query. Summed over the batch.

    Args:
        scores: [B, B], as in `hinge_costs`.
        margin: by how much a positive must exceed a negative.
        ignore: [B, B] bool, pairs that are not negatives.

    A collapsed model, all scores equal, gives 2·α·B:

    >>> round(float(max_of_hinges(torch.zeros(128, 128), margin=0.2)), 3)
    51.2
    """
    captions, images = hinge_costs(scores, margin, ignore)
    return captions.amax(1).sum() + images.amax(0).sum()
