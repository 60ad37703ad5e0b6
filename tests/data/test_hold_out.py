"""How many training images are held out, which, and when none can be."""

from pathlib import Path

import pytest

from polyglance.data import CaptionedImage, Dataset
from polyglance.data.hold_out import hold_out, hold_out_for_tuning
from polyglance.data.table import hash_splits
from polyglance.errors import PolyglanceError


def dataset(train: int, test: int = 3) -> Dataset:
    """Training images between those of another split."""
    splits = ["test"] + ["train"] * train + ["test"] * (test - 1)
    rows = [CaptionedImage(f"{i}.jpg", split, {"en": {}}) for i, split in enumerate(splits)]
    return Dataset(rows, Path("images"), "made")


def held(found: Dataset, split: str = "val") -> list[str]:
    return [entry.image for entry in found.images if entry.split == split]


@pytest.mark.parametrize(
    ("train", "count"), [(3, 1), (7, 1), (8, 2), (10, 2), (12, 2), (13, 3), (100, 20), (998, 200)]
)
def test_a_fifth_is_held_out_by_default(train: int, count: int) -> None:
    found = hold_out(dataset(train))
    assert len(held(found)) == count
    assert len(held(found, "train")) == train - count


@pytest.mark.parametrize(
    ("share", "count"), [(0.05, 1), (0.1, 2), (0.3, 6), (0.5, 10), (0.96, 19), (0.97, 19)]
)
def test_shares(share: float, count: int) -> None:
    assert len(held(hold_out(dataset(20), share))) == count


@pytest.mark.parametrize(
    ("train", "share"), [(0, 0.2), (1, 0.2), (2, 0.2), (2, 0.25), (20, 0.02), (20, 0.98), (20, 1.0)]
)
def test_neither_part_may_be_empty(train: int, share: float) -> None:
    with pytest.raises(PolyglanceError, match=rf"made: {train} training .* 'dev'"):
        hold_out(dataset(train), share, "dev")


def test_only_the_split_of_training_images_changes() -> None:
    before = dataset(30)
    after = hold_out(before, 0.5, "dev", seed=3)
    assert [entry.image for entry in after.images] == [entry.image for entry in before.images]
    pairs = zip(before.images, after.images, strict=True)
    assert {(a.split, b.split) for a, b in pairs} == {
        ("test", "test"),
        ("train", "train"),
        ("train", "dev"),
    }
    assert (after.image_folder, after.name) == (before.image_folder, before.name)
    assert before.splits == ["test", "train"]


def test_the_seed_chooses() -> None:
    first = held(hold_out(dataset(40)))
    assert held(hold_out(dataset(40), seed=0)) == first
    assert held(hold_out(dataset(40), seed=1)) != first
    # Not the first ones of the file: it may be sorted.
    assert first != [f"{i}.jpg" for i in range(1, 9)]


def test_a_split_that_is_there_is_used() -> None:
    given = hold_out(dataset(10))
    assert hold_out(given) is given
    assert hold_out(given, 0.9, "test") is given
    assert len(held(hold_out(given, 0.5, "dev"), "dev")) == 4


def table(images: int) -> Dataset:
    """A table without a column `split`."""
    names = [f"{i}.jpg" for i in range(images)]
    splits = hash_splits(names)
    rows = [CaptionedImage(name, splits[name], {"en": {}}) for name in names]
    return Dataset(rows, Path("images"), "made", hashed=True)


@pytest.mark.parametrize(
    ("images", "count"), [(3, 1), (12, 4), (45, 15), (60, 20), (99, 20), (200, 40), (1000, 200)]
)
def test_fine_tuning_holds_out_a_fifth_and_at_least_twenty_of_sixty(
    images: int, count: int
) -> None:
    for given in (dataset(images), table(images)):
        found = hold_out_for_tuning(given)
        assert len(held(found)) == count
        assert len(held(found, "train")) == images - count
        assert hold_out_for_tuning(found) is found
    assert held(hold_out_for_tuning(table(images)), "test") == []


@pytest.mark.parametrize("images", [60, 200, 1000])
def test_what_a_hash_puts_in_val_and_test_is_not_trained_on(images: int) -> None:
    given = table(images)
    assert {*held(given), *held(given, "test")} < set(held(hold_out_for_tuning(given)))


def test_a_split_of_the_users_own_is_used_for_fine_tuning() -> None:
    given = hold_out(dataset(10))
    assert hold_out_for_tuning(given) is given
    with pytest.raises(PolyglanceError, match="1 training image is too few"):
        hold_out_for_tuning(table(1))
