"""Scores of images and captions."""

import math

import torch

from polyglance.models.networks.similarity import (
    cosine_scores,
    l2,
    order_scores,
    squared_order_scores,
)


def test_order_score_by_hand() -> None:
    images = torch.tensor([[0.6, 0.8], [1.0, 0.0]])
    captions = torch.tensor([[0.5, 0.5], [0.9, 0.9]])
    scores = order_scores(images, captions)
    # [s − im]+: (0, 0), (.3, .1); (0, .5), (0, .9).
    expected = torch.tensor([[0.0, -math.sqrt(0.1)], [-0.5, -0.9]])
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=0)
    squared = squared_order_scores(images, captions)
    torch.testing.assert_close(squared, -expected.pow(2), atol=1e-6, rtol=0)


def test_order_score_has_a_finite_gradient_without_violation() -> None:
    images = torch.tensor([[0.6, 0.8]], requires_grad=True)
    order_scores(images, torch.tensor([[0.5, 0.5]])).sum().backward()
    assert torch.isfinite(images.grad).all()


def test_l2_of_zero_is_zero() -> None:
    assert l2(torch.zeros(1, 3)).tolist() == [[0.0, 0.0, 0.0]]
    torch.testing.assert_close(
        cosine_scores(l2(torch.ones(1, 4)), l2(torch.ones(1, 4))), torch.ones(1, 1)
    )
