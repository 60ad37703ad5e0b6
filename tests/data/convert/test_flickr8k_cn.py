"""Flickr8k-CN."""

from pathlib import Path

import pytest

from polyglance.data.convert.flickr8k_cn import convert_flickr8k_cn
from polyglance.errors import PolyglanceError

DOG, GIRL, MAN = "1001773457_577c3a7d70.jpg", "1000268201_693b08cb0e.jpg", "3_c.jpg"


@pytest.fixture
def flickr8kcn(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    files = {
        "flickr8kenc.caption.txt": f"{GIRL}#enc#0 A child .\n{DOG}#enc#0 A black dog\n",
        "flickr8kzhc.caption.txt": f"{GIRL}#zhc#0 一个女孩。\n{GIRL}#zhc#1 女孩爬楼梯。\n",
        "flickr8kzhb.caption.txt": f"{GIRL}#zhb#0 穿着连衣裙的孩子。\n",
        "flickr8kzhb.caption.txt.v20160815": f"{GIRL}#zhb#0 新版。\n",
        "flickr8kzhg.caption.txt": f"{GIRL}#zhg#0 谷歌。\n",
        "flickr8kzhmtest.captions.txt": f"{DOG}#zhm#0 一只黑狗。\n",
        "flickr8ktrain.txt": f"{GIRL[:-4]}\n",
        "flickr8kval.txt": f"{MAN[:-4]}\n",
        "flickr8ktest.txt": f"{DOG[:-4]}\n",
    }
    for name, text in files.items():
        (data / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_flickr8k_cn(flickr8kcn: Path) -> None:
    girl, dog = sorted(convert_flickr8k_cn(flickr8kcn).images, key=lambda p: p.image)
    assert (girl.image, girl.split, dog.split) == (GIRL, "train", "test")
    assert girl.captions == {
        "en": {"independent": ["A child ."]},
        "zh": {"independent": ["一个女孩。", "女孩爬楼梯。"], "machine": ["穿着连衣裙的孩子。"]},
    }
    assert dog.captions["zh"] == {"translation": ["一只黑狗。"]}


@pytest.mark.parametrize(
    ("machine", "texts"),
    [("google", ["谷歌。"]), ("both", ["穿着连衣裙的孩子。", "谷歌。"]), ("none", None)],
)
def test_flickr8k_cn_machines(flickr8kcn: Path, machine: str, texts: list[str] | None) -> None:
    photos = convert_flickr8k_cn(flickr8kcn / "data", machine=machine).images
    assert photos[0].captions["zh"].get("machine") == texts


def test_flickr8k_cn_errors(flickr8kcn: Path) -> None:
    path = flickr8kcn / "data" / "flickr8kzhc.caption.txt"
    path.write_text(f"{GIRL}#xyz#0 什么\n", encoding="utf-8")
    with pytest.raises(PolyglanceError, match=r"line 1: unknown tag 'xyz'; known are enc, zhc"):
        convert_flickr8k_cn(flickr8kcn)
    (flickr8kcn / "empty").mkdir()
    with pytest.raises(PolyglanceError, match=r"needs flickr8kzhc\.caption\.txt"):
        convert_flickr8k_cn(flickr8kcn / "empty")
