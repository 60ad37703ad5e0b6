"""The image tower."""

import torch

from polyglance.recipes import load_recipe
from polyglance.vision.tower import ImageTower


def test_standardised_features_are_centred() -> None:
    tower = ImageTower(load_recipe("nce").image, 3, 4)
    tower.standardise(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0]))
    assert tower.mean.tolist() == [1.0, 2.0, 3.0]
    assert float(tower.scale) == 4.0
