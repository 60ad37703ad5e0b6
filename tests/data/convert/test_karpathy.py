"""Karpathy's split files."""

import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.data.convert.karpathy import convert_karpathy
from polyglance.errors import PolyglanceError

TRAIN, VAL = "COCO_train2014_000000057870.jpg", "COCO_val2014_000000000042.jpg"


def dump(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def karpathy_image(name: str, split: str, *texts: str) -> dict[str, Any]:
    sentences = [
        {"tokens": text.lower().split(), "raw": f"{text}.", "imgid": 0, "sentid": i}
        for i, text in enumerate(texts)
    ]
    folder = {"filepath": name.split("_")[1]} if "COCO" in name else {}
    return {"filename": name, "split": split, "sentences": sentences, "imgid": 0, **folder}


@pytest.fixture
def karpathy(tmp_path: Path) -> Path:
    images = [
        karpathy_image(VAL, "test", "This wire metal rack", "A rack"),
        karpathy_image(TRAIN, "train", "A restaurant\n"),
        karpathy_image("COCO_val2014_000000000073.jpg", "restval", "A motorcycle"),
    ]
    return dump(tmp_path / "dataset_coco.json", {"images": images, "dataset": "coco"})


def test_karpathy(karpathy: Path) -> None:
    photos = convert_karpathy(karpathy).images
    assert [(p.image, p.split, p.captions["en"]["independent"]) for p in photos] == [
        (VAL, "test", ["This wire metal rack.", "A rack."]),
        (TRAIN, "train", ["A restaurant ."]),
        ("COCO_val2014_000000000073.jpg", "train", ["A motorcycle."]),
    ]
    tok = convert_karpathy(karpathy.parent, text="tok").images
    assert tok[0].captions["en"]["independent"] == ["this wire metal rack", "a rack"]


@pytest.mark.parametrize(
    ("restval", "splits"),
    [
        ("train", ["test", "train", "train"]),
        ("val", ["test", "train", "val"]),
        ("keep", ["test", "train", "restval"]),
        ("drop", ["test", "train"]),
    ],
)
def test_karpathy_restval(karpathy: Path, restval: str, splits: list[str]) -> None:
    assert [p.split for p in convert_karpathy(karpathy, restval=restval).images] == splits


def test_karpathy_errors(karpathy: Path) -> None:
    dump(karpathy, {"images": [{"filename": "a.jpg", "split": "train"}]})
    with pytest.raises(PolyglanceError, match=r"dataset_coco\.json, images\[0\]: needs filename"):
        convert_karpathy(karpathy)
    dump(karpathy, [1])
    with pytest.raises(PolyglanceError, match="has no list 'images'"):
        convert_karpathy(karpathy)
    karpathy.write_text('{"images": [')
    with pytest.raises(PolyglanceError, match="not valid JSON"):
        convert_karpathy(karpathy)
    dump(karpathy.parent / "dataset_flickr8k.json", {})
    with pytest.raises(PolyglanceError, match=r"needs one dataset_\*\.json, found 2"):
        convert_karpathy(karpathy.parent)
