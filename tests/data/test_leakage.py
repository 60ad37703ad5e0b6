"""Texts without an image do not repeat captions of images that are held out."""

import json
from pathlib import Path

import pytest

from polyglance.data.dataset import CaptionedImage, CaptionTable, Dataset
from polyglance.data.leakage import held_out_texts, text_key, without_texts


def captioned(image: str, split: str, text: str, language: str = "en") -> CaptionedImage:
    return CaptionedImage(image, split, {language: {"independent": [text]}})


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    images = [
        captioned("a.jpg", "train", "A dog runs."),
        captioned("b.jpg", "val", "A cat sleeps."),
        captioned("c.jpg", "test", "A cow eats."),
    ]
    return Dataset(images, tmp_path, "toy")


def test_captions_of_every_other_split_and_of_further_files(
    dataset: Dataset, tmp_path: Path
) -> None:
    rows = [
        {"image": "a.jpg", "split": "train", "captions": {"tr": {"machine": ["Köpek koşuyor."]}}},
        {"image": "c.jpg", "split": "test", "captions": {"tr": {"machine": ["İnek yiyor."]}}},
    ]
    more = tmp_path / "more.jsonl"
    more.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert held_out_texts(dataset, [str(more)], "train") == {
        text_key(text) for text in ("A cat sleeps.", "A cow eats.", "İnek yiyor.")
    }


@pytest.mark.parametrize(
    ("text", "same"),
    [("a CAT sleeps", True), ("A cat, sleeps!", True), ("A cat slept.", False), ("A cat", False)],
)
def test_a_tuple_with_such_a_caption_goes_with_its_translations(
    dataset: Dataset, text: str, same: bool
) -> None:
    table = CaptionTable.collect(
        [
            (7, {"en": {"text-only": [text]}, "de": {"text-only": ["Eine Katze schläft."]}}),
            (8, {"en": {"text-only": ["A dog runs."]}}),
        ]
    )
    left = without_texts(table, held_out_texts(dataset, [], "train"))
    expected = ["A dog runs."] if same else [text, "Eine Katze schläft.", "A dog runs."]
    assert left.texts == expected
    assert left.image.tolist() == ([8] if same else [7, 7, 8])
