"""The native folder: every malformed line is named, every caption has a place."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyglance.data import CaptionedImage, CaptionTable, Dataset, load_dataset
from polyglance.data.info import inspect_dataset
from polyglance.errors import PolyglanceError


def write(folder: Path, *rows: dict[str, Any], name: str = "captions.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"split": "train", "captions": {}} | row) for row in rows]
    (folder / name).write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"image": "../a.jpg"}, "not a name below images/"),
        ({"image": "/etc/a.jpg"}, "not a name below images/"),
        ({"image": "a\0.jpg"}, "not a name below images/"),
        ({"image": "."}, "not a name below images/"),
        ({"image": 3}, "'image' must be a non-empty string"),
        ({"image": "a.jpg", "captions": {"": {"independent": ["a"]}}}, "language has no name"),
        ({"image": "a.jpg", "captions": {"en": {"": ["a"]}}}, r"kind of captions\.en has no name"),
        ({"image": "a.jpg", "captions": {"en": {"x": [" "]}}}, "has an empty caption"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    folder = write(tmp_path / "d", {"image": "sub/b.jpg"}, row)
    with pytest.raises(PolyglanceError, match=rf"captions\.jsonl, line 2: .*{message}"):
        load_dataset(folder)


def test_two_caption_files_are_ambiguous(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", {"image": "a.jpg"})
    write(folder, {"image": "a.jpg"}, name="captions.jsonl.gz")
    with pytest.raises(PolyglanceError, match=r"has both .* remove one"):
        load_dataset(folder)


def test_empty_lists_are_no_captions(tmp_path: Path) -> None:
    captions = {"en": {"independent": [], "translation": ["a"]}, "tr": {"independent": []}}
    dataset = load_dataset(write(tmp_path / "d", {"image": "a.jpg", "captions": captions}))
    assert dataset.languages == ["en"]
    assert dataset.best_kind("en") == "translation"
    with pytest.raises(PolyglanceError, match=r"captions\.jsonl: no captions in language 'tr'"):
        dataset.captions(["tr"])


def test_a_missing_split_names_the_file(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path / "d", {"image": "a.jpg", "split": "Val"}))
    with pytest.raises(PolyglanceError, match=r"captions\.jsonl: .* 'val' \(did you mean 'Val'"):
        dataset.split("val")


def test_places_of_captions(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", {"image": "a.jpg"}, {"image": "b.jpg", "split": "val"})
    part = load_dataset(folder).split("val")
    assert part.where(part.images[0], "x") == f"{folder / 'captions.jsonl'}, line 2"
    alone = Dataset([CaptionedImage("a.jpg", "train", {})], tmp_path, "mine")
    assert alone.where(alone.images[0], "x") == "mine, image a.jpg"


def test_places_of_captions_in_a_table(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        'path,caption,language,split\na.jpg,"a\ndog",en,val\n\na.jpg,!!,en,val\nb.jpg,!!,en,train\n'
    )
    part = load_dataset(table).split("val")
    assert part.where(part.images[0], "!!") == f"{table}, line 5"
    assert part.where(part.images[0], "a\ndog") == f"{table}, line 2"


def test_a_name_that_no_file_can_have_is_missing(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", {"image": "x" * 5000})
    (folder / "images").mkdir()
    assert inspect_dataset(load_dataset(folder)).missing == ["x" * 5000]


def test_tables_are_taken_and_joined_by_rows() -> None:
    captions = {"de": {"independent": ["Hund"]}, "en": {"translation": ["dog", "a dog"]}}
    table = CaptionTable.collect([(4, captions), (7, {"en": {"independent": ["cat"]}})])
    assert table.texts == ["Hund", "dog", "a dog", "cat"]
    assert table.image.tolist() == [4, 4, 4, 7]
    assert table.languages == ["de", "en", "en", "en"]
    last, none = table.take(np.array([3, 0])), table.take(np.empty(0, np.int64))
    assert (last.texts, last.image.tolist()) == (["cat", "Hund"], [7, 4])
    assert (last.languages, last.kinds) == (["en", "de"], ["independent", "independent"])
    assert len(none) == 0
    assert none.image.dtype == np.int64
    joined = none.join(last).join(table.take(np.array([1])))
    assert (joined.texts, joined.image.tolist()) == (["cat", "Hund", "dog"], [7, 4, 4])
    assert joined.kinds == ["independent", "independent", "translation"]
    assert CaptionTable.collect([(0, captions)], {"translation"}).texts == ["dog", "a dog"]
