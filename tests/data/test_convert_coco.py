import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.data.convert.coco import convert_coco
from polyglance.data.convert.coco_cn import convert_coco_cn
from polyglance.data.convert.karpathy import convert_karpathy
from polyglance.data.convert.xtd10 import convert_xtd10
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


@pytest.fixture
def coco_cn(tmp_path: Path) -> Path:
    files = {
        "coco-cn_train.txt": "COCO_train2014_000000057870\n",
        "coco-cn_val.txt": "",
        "coco-cn_test.txt": "COCO_val2014_000000000042\n",
        "imageid.human-written-caption.txt": (
            "COCO_train2014_000000057870#0\t餐厅里有长桌\n"
            "COCO_val2014_000000000042#0\t架子上的鞋\n"
            "COCO_val2014_000000000042#1 一只狗睡在鞋上\n"
        ),
        "imageid.human-written-caption.bosonseg.txt": "COCO_val2014_000000000042#0\t架子:n\n",
        "imageid.human-written-tags.txt": "COCO_val2014_000000000042\t架子 鞋\n",
        "imageid.manually-translated-caption.txt": "COCO_val2014_000000000042#0\t金属架\n",
        "imageid.machine-translated-caption.bosonseg.txt": (
            "COCO_val2014_000000000042#zhbDec#0 一:m 只:q 狗:n ，:wd 3:m\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_coco_cn(coco_cn: Path) -> None:
    photos = convert_coco_cn(coco_cn).images
    assert [(p.image, p.split) for p in photos] == [(TRAIN, "train"), (VAL, "test")]
    assert photos[1].captions == {
        "zh": {
            "independent": ["架子上的鞋", "一只狗睡在鞋上"],
            "translation": ["金属架"],
            "machine": ["一只狗，3"],
        }
    }
    assert "machine" not in convert_coco_cn(coco_cn, machine="no").images[1].captions["zh"]


def test_coco_cn_errors(coco_cn: Path) -> None:
    for path in coco_cn.glob("imageid.*"):
        path.unlink()
    with pytest.raises(PolyglanceError, match=r"there is no imageid\.human-written-caption\.txt"):
        convert_coco_cn(coco_cn)
    for path in coco_cn.glob("coco-cn_*"):
        path.unlink()
    with pytest.raises(PolyglanceError, match=r"there is no coco-cn_train\.txt"):
        convert_coco_cn(coco_cn)


@pytest.fixture
def xtd10(tmp_path: Path) -> Path:
    files = {
        "XTD10/test_image_names.txt": f"{TRAIN}\n{VAL}\n",
        "XTD10/test_1kcaptions_zh.txt": "餐厅\n架子\n",
        "XTD10/test_1kcaptions_es.txt": "Un restaurante\r\nUn estante\r\n",
        "MIC/test_1kcaptions_de.txt": "Ein Restaurant\nEin Regal\n",
        "MIC/test_1kcaptions_en.txt": "A restaurant\nA rack",
        "STAIR/test_1kcaptions_jp.txt": "レストラン\n靴棚\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def test_xtd10(xtd10: Path) -> None:
    photos = convert_xtd10(xtd10).images
    assert [(p.image, p.split) for p in photos] == [(TRAIN, "test"), (VAL, "test")]
    assert photos[1].captions == {
        "zh": {"translation": ["架子"]},
        "es": {"translation": ["Un estante"]},
        "de": {"translation": ["Ein Regal"]},
        "en": {"translation": ["A rack"]},
        "ja": {"independent": ["靴棚"]},
    }


def test_xtd10_errors(xtd10: Path) -> None:
    (xtd10 / "MIC/test_1kcaptions_de.txt").write_text("nur eine\n")
    with pytest.raises(PolyglanceError, match=r"_de\.txt has 1 lines but .*names\.txt has 2"):
        convert_xtd10(xtd10)
    with pytest.raises(PolyglanceError, match=r"there is no test_image_names\.txt"):
        convert_xtd10(xtd10 / "MIC")
