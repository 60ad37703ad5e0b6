"""Differentiable scores between images and captions."""

from collections.abc import Callable

import torch
from torch import Tensor

from polyglance.core.registry import Registry
from polyglance.numerics.precision import to_float32

EPSILON = 1e-8
tensor_scores: Registry[Callable[[Tensor, Tensor], Tensor]] = Registry("similarity")
"""(images [N, D], captions [M, D]) → scores [N, M]."""


def l2(vectors: Tensor) -> Tensor:
    """Scale rows to unit length, in float32; ε as in vse_infty and lavse (mulisera has none)."""
    vectors = to_float32(vectors)
    return vectors / (vectors.norm(dim=-1, keepdim=True) + EPSILON)


@tensor_scores.register("cosine")
def cosine_scores(images: Tensor, captions: Tensor) -> Tensor:
    """[N, D], [M, D], both normalised → [N, M]."""
    return images @ captions.t()


@tensor_scores.register("order")
def order_scores(images: Tensor, captions: Tensor) -> Tensor:
    """−‖[s − im]+‖₂ of non-negative vectors: [N, D], [M, D] → [N, M].

    A caption is more abstract than its image, so it should be below it in every dimension.
    """
    # At 0, for a pair without violation, the root's gradient would be infinite.
    return -torch.sqrt(EPSILON**2 - squared_order_scores(images, captions))


@tensor_scores.register("order-squared")
def squared_order_scores(images: Tensor, captions: Tensor) -> Tensor:
    """−‖[s − im]+‖², as in the original code (ivendrov): [N, D], [M, D] → [N, M]."""
    violation = (captions[None, :, :] - images[:, None, :]).clamp(min=0)  # [N, M, D]
    return -violation.pow(2).sum(2)
