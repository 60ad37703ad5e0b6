"""Captions in COCO's own form, STAIR's and YJ's."""

import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.data.convert.coco import convert_coco
from polyglance.errors import PolyglanceError

TRAIN, VAL = "COCO_train2014_000000057870.jpg", "COCO_val2014_000000000042.jpg"


def dump(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def annotations(image: int, *texts: str, **more: str) -> list[dict[str, Any]]:
    return [{"image_id": image, "id": i, "caption": t, **more} for i, t in enumerate(texts)]


def test_coco_captions(tmp_path: Path) -> None:
    images = [{"id": 57870, "file_name": TRAIN, "height": 480}]
    dump(
        tmp_path / "captions_train2014.json",
        {"images": images, "annotations": annotations(57870, "A restaurant. \n", "Long tables.")},
    )
    images = [{"id": 42, "file_name": VAL}]
    dump(
        tmp_path / "captions_val2014.json",
        {"images": images, "annotations": annotations(42, "A rack.", " ")},
    )
    result = convert_coco(tmp_path)
    assert [(p.image, p.split, p.captions) for p in result.images] == [
        (TRAIN, "train", {"en": {"independent": ["A restaurant.", "Long tables."]}}),
        (VAL, "val", {"en": {"independent": ["A rack."]}}),
    ]
    assert result.notes == ["captions_val2014.json: 1 empty captions were left out"]


def test_stair(tmp_path: Path) -> None:
    rows = annotations(57870, "大きなレストラン", tokenized_caption="大きな レストラン")
    dump(tmp_path / "stair_captions_v1.2_train.json", {"annotations": rows})
    dump(tmp_path / "stair_captions_v1.2_train_tokenized.json", {"annotations": rows})
    photos = convert_coco(tmp_path).images
    assert [(p.image, p.split) for p in photos] == [(TRAIN, "train")]
    assert photos[0].captions == {"ja": {"independent": ["大きなレストラン"]}}
    tok = convert_coco(tmp_path, text="tok").images
    assert tok[0].captions == {"ja": {"independent": ["大きな レストラン"]}}


def test_yj_captions(tmp_path: Path) -> None:
    url = "http://mscoco.org/images/57870"
    value = {
        "images": [{"id": 57870, "url": url, "coco_url": ""}],
        "annotations": annotations(57870, "レストラン"),
    }
    path = dump(tmp_path / "yjcaptions26k_clean.json", value)
    with pytest.raises(PolyglanceError, match=r"-o names=COCO_train2014_\{id:012d\}\.jpg"):
        convert_coco(path)
    photos = convert_coco(path, names="COCO_train2014_{id:012d}.jpg").images
    assert [(p.image, p.split, list(p.captions)) for p in photos] == [(TRAIN, "train", ["ja"])]


def test_coco_errors(tmp_path: Path) -> None:
    path = dump(tmp_path / "captions_val2014.json", {"annotations": [{"image_id": 1}]})
    with pytest.raises(PolyglanceError, match=r"val2014\.json, annotations\[0\]: needs image_id"):
        convert_coco(path)
    with pytest.raises(PolyglanceError, match="name the JSON file itself"):
        convert_coco(tmp_path.parent / "nowhere")
