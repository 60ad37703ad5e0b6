"""Towers and similarities."""

import math

import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.models.similarity import cosine_scores, l2, order_scores, squared_order_scores
from polyglance.models.two_tower import TwoTower
from polyglance.recipes import load_recipe
from polyglance.vision.heads import xavier_linear
from polyglance.vision.tower import ImageTower

SMALL = ["text.encoder.hidden=6", "text.embedder.word_dim=5", "joint.dim=6"]


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


@pytest.mark.parametrize("name", ["vsepp", "order", "gella-oe"])
def test_points_have_length_one_and_order_points_no_sign(name: str) -> None:
    network = TwoTower(
        load_recipe(name, parse_overrides(SMALL), shared=True),
        7,
        {"en" if "gella" in name else "": 20},
    )
    images = network.embed_images(torch.randn(3, 7))
    captions = network.embed_text(torch.randint(4, 20, (3, 4)), torch.tensor([4, 2, 1]), "en")
    for points in (images, captions):
        torch.testing.assert_close(points.norm(dim=1), torch.ones(3))
        assert name == "vsepp" or bool((points >= 0).all())


def test_a_set_of_one_vector_is_that_vector() -> None:
    network = TwoTower(load_recipe("vsepp", parse_overrides(SMALL), shared=True), 7, 20)
    features = torch.randn(3, 7)
    sets = features[:, None, :].repeat(1, 2, 1)
    sets[:, 1] = 99.0
    torch.testing.assert_close(
        network.embed_images(sets, torch.ones(3, dtype=torch.long)), network.embed_images(features)
    )


def test_vsepp_has_the_papers_shapes() -> None:
    """Spec §2.2: Linear(F→1024), Embedding(V, 300), GRU(300→1024); no other parameters."""
    network = TwoTower(load_recipe("vsepp"), feature_dim=2048, vocabulary=100)
    sizes = {name: tuple(p.shape) for name, p in network.named_parameters()}
    assert sizes == {
        "image.head.weight": (1024, 2048),
        "image.head.bias": (1024,),
        "text.words.weight": (100, 300),
        "text.gru.weight_ih_l0": (3072, 300),
        "text.gru.weight_hh_l0": (3072, 1024),
        "text.gru.bias_ih_l0": (3072,),
        "text.gru.bias_hh_l0": (3072,),
    }


def test_image_head_starts_as_the_official_one() -> None:
    layer = xavier_linear(2048, 1024)
    bound = math.sqrt(6) / math.sqrt(2048 + 1024)
    largest = float(layer.weight.detach().abs().max())
    assert 0.99 * bound < largest <= bound
    assert not layer.bias.detach().any()


def test_standardised_features_are_centred() -> None:
    tower = ImageTower(load_recipe("nce").image, 3, 4)
    tower.standardise(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0]))
    assert tower.mean.tolist() == [1.0, 2.0, 3.0]
    assert float(tower.scale) == 4.0


def test_sizes_that_do_not_meet_are_explained() -> None:
    with pytest.raises(PolyglanceError, match=r"text\.projection=true"):
        TwoTower(load_recipe("vsepp", parse_overrides(["joint.dim=8"])), 7, 20)
