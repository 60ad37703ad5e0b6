"""Heads of the image tower."""

import math

import torch

from polyglance.recipes.schema import ImageRecipe, ResidualMlpHead
from polyglance.vision.heads import ResidualMLP, xavier_linear
from polyglance.vision.tower import ImageTower


def sets(*lengths: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(len(lengths), max(lengths), 7), torch.tensor(lengths)


def residual() -> ImageTower:
    torch.manual_seed(1)
    return ImageTower(ImageRecipe(head=ResidualMlpHead(hidden=4)), 7, 6)


def test_the_residual_head_has_the_papers_shapes() -> None:
    """Spec §2.5: Linear(2048→1024) + Linear(2048→512)–BN(512)–ReLU–Linear(512→1024)."""
    with torch.device("meta"):
        head = ImageTower(ImageRecipe(head=ResidualMlpHead(hidden=512)), 2048, 1024).head
    assert {name: tuple(p.shape) for name, p in head.named_parameters()} == {
        "linear.weight": (1024, 2048),
        "linear.bias": (1024,),
        "mlp.0.weight": (512, 2048),
        "mlp.0.bias": (512,),
        "mlp.1.weight": (512,),
        "mlp.1.bias": (512,),
        "mlp.3.weight": (1024, 512),
        "mlp.3.bias": (1024,),
    }


def test_the_residual_head_by_hand() -> None:
    head = ResidualMLP(3, 4, 2)
    vectors = torch.randn(5, 3)
    first, second = head.mlp[0], head.mlp[3]
    hidden = vectors @ first.weight.t() + first.bias
    scaled = (hidden - hidden.mean(0)) / torch.sqrt(hidden.var(0, correction=0) + 1e-5)
    expected = head.linear(vectors) + scaled.clamp(min=0) @ second.weight.t() + second.bias
    torch.testing.assert_close(head(vectors), expected)


def test_batch_statistics_are_those_of_valid_vectors() -> None:
    tower = residual()
    features, lengths = sets(5, 2, 3)
    tower(features, lengths)
    mask = torch.arange(5) < lengths[:, None]
    hidden = tower.head.mlp[0](features[mask])
    torch.testing.assert_close(tower.head.mlp[1].running_mean, 0.1 * hidden.mean(0))
    torch.testing.assert_close(tower.head.mlp[1].running_var, 0.9 + 0.1 * hidden.var(0))


def test_what_lies_past_a_length_changes_nothing_even_in_training() -> None:
    features, lengths = sets(5, 2, 3)
    other = features.clone()
    other[1, 2:], other[2, 3:] = 1e6, -1e6
    torch.testing.assert_close(residual()(features, lengths), residual()(other, lengths))


def test_full_sets_take_a_short_cut_to_the_same_points() -> None:
    features, lengths = sets(4, 4)
    wider = torch.cat([features, torch.zeros(2, 1, 7)], 1)
    torch.testing.assert_close(residual()(features, lengths), residual()(wider, lengths))


def test_a_set_of_one_is_a_global_vector() -> None:
    features = torch.randn(3, 7)
    ones = torch.ones(3, dtype=torch.long)
    torch.testing.assert_close(residual()(features[:, None], ones), residual()(features))


def test_a_single_vector_trains_with_the_running_statistics() -> None:
    tower, features = residual(), torch.randn(1, 7)
    training = tower(features)
    torch.testing.assert_close(training, tower.eval()(features))
    assert int(tower.head.mlp[1].num_batches_tracked) == 0


def test_image_head_starts_as_the_official_one() -> None:
    layer = xavier_linear(2048, 1024)
    bound = math.sqrt(6) / math.sqrt(2048 + 1024)
    largest = float(layer.weight.detach().abs().max())
    assert 0.99 * bound < largest <= bound
    assert not layer.bias.detach().any()
