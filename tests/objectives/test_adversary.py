"""Gradient reversal, and the authors' scaling of it."""

import math

import pytest
import torch

from polyglance.objectives import LanguageClassifier, reverse_gradient
from polyglance.objectives.adversary import ramp


def gradients(strength: float, scaled: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the classifier's weights and of the features, at the end of training."""
    torch.manual_seed(0)
    classifier = LanguageClassifier(4, 3)
    features = torch.randn(5, 4, requires_grad=True)
    loss = classifier.loss(features, torch.tensor([0, 1, 2, 0, 1]), strength, 1.0, scaled)
    loss.backward()
    assert features.grad is not None
    assert classifier.weight.grad is not None
    return classifier.weight.grad, features.grad


def test_reversal_turns_the_gradient_only() -> None:
    vectors = torch.randn(2, 3, requires_grad=True)
    turned = reverse_gradient(vectors, 0.25)
    assert torch.equal(turned, vectors)
    (turned * torch.arange(6.0).view(2, 3)).sum().backward()
    torch.testing.assert_close(vectors.grad, -0.25 * torch.arange(6.0).view(2, 3))


def test_strength_scales_features_alone_and_in_the_authors_code_twice() -> None:
    weight, features = gradients(1.0, scaled=False)
    small_weight, small_features = gradients(0.01, scaled=False)
    torch.testing.assert_close(small_weight, weight)
    torch.testing.assert_close(small_features, 0.01 * features)
    scaled_weight, scaled_features = gradients(0.01, scaled=True)
    torch.testing.assert_close(scaled_weight, 0.01 * weight)
    torch.testing.assert_close(scaled_features, 1e-4 * features)


@pytest.mark.parametrize("progress", [0.0, 0.1, 0.5, 1.0])
def test_the_reversed_gradient_grows_in_the_course_of_training(progress: float) -> None:
    torch.manual_seed(0)
    classifier, languages = LanguageClassifier(4, 3), torch.tensor([0, 1, 2, 0, 1])
    features = torch.randn(5, 4, requires_grad=True)
    plain = torch.nn.functional.cross_entropy(classifier(features), languages)
    (expected,) = torch.autograd.grad(plain, features)
    loss = classifier.loss(features, languages, 0.5, progress, False)
    assert torch.equal(loss, plain)
    (found,) = torch.autograd.grad(loss, features)
    torch.testing.assert_close(found, -0.5 * math.tanh(5 * progress) * expected)


def test_a_classifier_learns_while_features_are_driven_apart_from_it() -> None:
    """Features step against the classifier: following the reversed gradient raises its loss."""
    torch.manual_seed(0)
    classifier = LanguageClassifier(4, 2)
    features = torch.randn(20, 4, requires_grad=True)
    languages = torch.arange(20) % 2
    before = classifier.loss(features, languages, 1.0, 1.0, False)
    before.backward()
    assert features.grad is not None
    with torch.no_grad():
        moved = classifier.loss(features - features.grad, languages, 1.0, 1.0, False)
    assert float(moved) > float(before.detach())
    assert ramp(0) == pytest.approx(0)
