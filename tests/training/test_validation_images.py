"""Early stopping on the first images of the validation split."""

from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.training.validation import first_images
from tests.conftest import write_toy


@pytest.mark.parametrize(("count", "left"), [(3, 3), (10_000, None), (None, None)])
def test_so_many_images_from_the_first(count: int | None, left: int | None, tmp_path: Path) -> None:
    dataset = load_dataset(str(write_toy(tmp_path / "toy")))
    whole, cut = dataset.split("val"), first_images(dataset, "val", count).split("val")
    assert [entry.image for entry in cut.images] == [e.image for e in whole.images][:left]
    train = [entry.image for entry in dataset.split("train").images]
    assert [e.image for e in first_images(dataset, "val", count).split("train").images] == train
