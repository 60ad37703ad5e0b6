"""The image tower."""

import torch
from torch import nn

from polyglance.recipes import load_recipe
from polyglance.recipes.schema import ImageRecipe
from polyglance.vision.tower import ImageTower


def test_standardised_features_are_centred() -> None:
    tower = ImageTower(load_recipe("nce").image, 3, 4)
    tower.standardise(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0]))
    assert tower.mean.tolist() == [1.0, 2.0, 3.0]
    assert float(tower.scale) == 4.0


def test_dropout_behind_the_head_is_on_the_joint_space() -> None:
    torch.manual_seed(0)
    tower = ImageTower(ImageRecipe(output_dropout=0.5), 4, 200)
    nn.init.constant_(tower.head.bias, 1.0)
    nn.init.zeros_(tower.head.weight)
    found = tower.train()(torch.randn(3, 4))
    assert set(found.unique().tolist()) == {0.0, 2.0}
    assert 0.3 < (found == 0).float().mean() < 0.7
    assert (tower.eval()(torch.randn(3, 4)) == 1).all()
