"""Scores between images and captions, differentiable."""

import torch
from torch import Tensor

EPSILON = 1e-8


def l2(vectors: Tensor) -> Tensor:
    """Rows at length one; ε as in vse_infty and lavse, where mulisera divides by zero."""
    return vectors / (vectors.norm(dim=-1, keepdim=True) + EPSILON)


def cosine_scores(images: Tensor, captions: Tensor) -> Tensor:
    """[N, D], [M, D], both normalised → [N, M]."""
    return images @ captions.t()


def order_scores(images: Tensor, captions: Tensor) -> Tensor:
    """−‖[s − im]+‖₂ of non-negative vectors: [N, D], [M, D] → [N, M].

    A caption is more abstract than its image, so it should lie below it in every dimension.
    """
    # The root's gradient is infinite at 0, where a pair has no violation at all.
    return -torch.sqrt(EPSILON**2 - squared_order_scores(images, captions))


def squared_order_scores(images: Tensor, captions: Tensor) -> Tensor:
    """−‖[s − im]+‖², the form of ivendrov's original: [N, D], [M, D] → [N, M]."""
    violation = (captions[None, :, :] - images[:, None, :]).clamp(min=0)  # [N, M, D]
    return -violation.pow(2).sum(2)


SCORES = {
    "cosine": cosine_scores,
    "order": order_scores,
    "order-squared": squared_order_scores,
}
