"""COCO-CN."""

from pathlib import Path

import pytest

from polyglance.data.convert.coco_cn import convert_coco_cn
from polyglance.errors import PolyglanceError

TRAIN, VAL = "COCO_train2014_000000057870.jpg", "COCO_val2014_000000000042.jpg"


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
