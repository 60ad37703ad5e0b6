"""XTD10."""

from pathlib import Path

import pytest

from polyglance.data.convert.xtd10 import convert_xtd10
from polyglance.errors import PolyglanceError

TRAIN, VAL = "COCO_train2014_000000057870.jpg", "COCO_val2014_000000000042.jpg"


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
