"""Flickr8k and Flickr30k."""

from pathlib import Path

import pytest

from polyglance.data.convert.flickr8k import convert_flickr8k
from polyglance.errors import PolyglanceError

DOG, GIRL, MAN = "1001773457_577c3a7d70.jpg", "1000268201_693b08cb0e.jpg", "3_c.jpg"


@pytest.fixture
def flickr8k(tmp_path: Path) -> Path:
    (tmp_path / "Flickr8k.token.txt").write_text(
        f"{GIRL}#0\tA child in a pink dress .\n"
        f"{GIRL}#1\tA girl # going into a wooden building .\n"
        f"{DOG}#0\tA black dog\r\n"
        f"{MAN}#0\tA man .\n"
        "2258277193_586949ec62.jpg.1#0\tsome more .\n",
        encoding="utf-8",
    )
    for split, name in (("train", GIRL), ("dev", DOG), ("test", MAN)):
        (tmp_path / f"Flickr_8k.{split}Images.txt").write_text(f"{name}\n")
    return tmp_path


def test_flickr8k(flickr8k: Path) -> None:
    result = convert_flickr8k(flickr8k)
    assert [(p.image, p.split, p.captions["en"]["independent"]) for p in result.images] == [
        (GIRL, "train", ["A child in a pink dress .", "A girl # going into a wooden building ."]),
        (DOG, "val", ["A black dog"]),
        (MAN, "test", ["A man ."]),
    ]
    assert result.notes == [
        "1 images with captions are in no split and were left out "
        "(such as '2258277193_586949ec62.jpg.1')"
    ]


def test_flickr30k_token_file_and_entities_lists(tmp_path: Path) -> None:
    token = tmp_path / "results_20130124.token"
    token.write_text("1000092795.jpg#0\tTwo young guys .\n1007129816.jpg#0\tThe man .\n")
    lists = tmp_path / "entities"
    lists.mkdir()
    (lists / "train.txt").write_text("1000092795\n")
    (lists / "test.txt").write_text("1007129816\n")
    photos = convert_flickr8k(tmp_path, language="en", lists=str(lists)).images
    assert [(p.image, p.split) for p in photos] == [
        ("1000092795.jpg", "train"),
        ("1007129816.jpg", "test"),
    ]


def test_without_lists_the_name_decides(tmp_path: Path) -> None:
    token = tmp_path / "Flickr8k.arabic.txt"
    token.write_text("".join(f"{i}.jpg#0\tكلب\n" for i in range(30)), encoding="utf-8")
    result = convert_flickr8k(token, language="ar")
    assert {p.split for p in result.images} == {"train", "val", "test"}
    assert "split 90/5/5 by name" in result.notes[0]


def test_flickr8k_errors(flickr8k: Path) -> None:
    with (flickr8k / "Flickr8k.token.txt").open("a") as handle:
        handle.write("no key here\n")
    with pytest.raises(PolyglanceError, match=r"Flickr8k\.token\.txt, line 6: expected 'image#nu"):
        convert_flickr8k(flickr8k)
    (flickr8k / "Flickr8k.token.txt").unlink()
    with pytest.raises(PolyglanceError, match=r"there is no Flickr8k\.token\.txt or results"):
        convert_flickr8k(flickr8k)


def test_image_in_two_lists(flickr8k: Path) -> None:
    (flickr8k / "Flickr_8k.testImages.txt").write_text(f"{MAN}\n{GIRL}\n")
    with pytest.raises(PolyglanceError, match="is also in the list of split 'test'"):
        convert_flickr8k(flickr8k)
