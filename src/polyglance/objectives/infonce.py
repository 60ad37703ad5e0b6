"""The temperature-scaled symmetric softmax of CLIP (Radford et al. 2021, §2.3, Figure 3)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def info_nce(scores: Tensor, temperature: Tensor | float, ignore: Tensor | None = None) -> Tensor:
    """Mean of the two cross-entropies, image → caption and caption → image.

    Args:
        scores: [B, B], S[i, j] = s(image_i, caption_j); positives on the diagonal.
        temperature: divides the scores.
        ignore: [B, B] bool, pairs that are not negatives; the diagonal never is.

    Equal scores give log B:

    >>> round(float(info_nce(torch.zeros(4, 4), 0.05)), 4)
    1.3863
    """
    logits = scores / temperature
    if ignore is not None:
        eye = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        logits = logits.masked_fill(ignore & ~eye, torch.finfo(logits.dtype).min)
    target = torch.arange(len(scores), device=scores.device)
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
