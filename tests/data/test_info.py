import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.data import CaptionedImage, Dataset, load_dataset
from polyglance.data.info import count_captions, inspect_dataset

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "flickr8k-ml"


def jpeg(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (64, 64, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    red, blue = jpeg(0), jpeg(1)
    files = {
        "red.jpg": red,
        "red-again.jpg": red,
        "red-test.jpg": red,
        "blue.jpg": blue,
        "cut.jpg": blue[:-200],
        "text.jpg": b"no picture",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    def photo(image: str, split: str, **captions: list[str]) -> CaptionedImage:
        return CaptionedImage(
            image, split, {code: {"independent": t} for code, t in captions.items() if t}
        )

    photos = [
        photo("red.jpg", "train", en=["a", "b"], de=["x"]),
        photo("red-again.jpg", "train", en=["c"]),
        photo("red-test.jpg", "test", en=["a"]),
        photo("blue.jpg", "train", en=["d"]),
        photo("cut.jpg", "train"),
        photo("text.jpg", "test", en=["e"]),
        photo("gone.jpg", "test", en=["f"]),
        photo("blue.jpg", "train", en=["g"]),
    ]
    return Dataset(photos, tmp_path, "small")


def test_findings(dataset: Dataset) -> None:
    report = inspect_dataset(dataset, show=False)
    assert report.photos == {"train": 5, "test": 3}
    assert report.missing == ["gone.jpg"]
    assert set(report.broken) == {"cut.jpg", "text.jpg"}
    assert "truncated" in report.broken["cut.jpg"]
    names = {"train": ["red.jpg", "red-again.jpg"], "test": ["red-test.jpg"]}
    assert report.leaked == [names]
    assert report.repeated == [
        {"train": ["red.jpg", "red-again.jpg"]},
        {"train": ["blue.jpg", "blue.jpg"]},
    ]
    assert report.shared_captions == {"en": 1}
    assert report.without == {"test": ["de"]}
    assert report.uncaptioned == ["cut.jpg"]
    assert not report.sound


def test_fast_does_not_decode(dataset: Dataset) -> None:
    report = inspect_dataset(dataset, decode=False, show=False)
    assert (report.broken, report.decoded) == ({}, False)
    assert report.missing == ["gone.jpg"]


def test_counts(dataset: Dataset) -> None:
    rows = [
        (c.split, c.language, c.photos, c.captions, c.least, c.most)
        for c in count_captions(dataset)
    ]
    assert rows == [
        ("train", "de", 1, 1, 1, 1),
        ("train", "en", 4, 5, 1, 2),
        ("test", "en", 3, 3, 1, 1),
    ]


def test_no_pictures(tmp_path: Path) -> None:
    photos = [CaptionedImage("a", "train", {"en": {"independent": ["x"]}})]
    report = inspect_dataset(Dataset(photos, tmp_path / "images", "text only"), show=False)
    assert (report.has_images, report.decoded, report.missing) == (False, False, [])
    assert report.sound


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_shared_data_has_the_counts_of_its_readme() -> None:
    report = inspect_dataset(load_dataset(SHARED), decode=False, show=False)
    all_photos, joined = (6000, 500, 500), (5528, 472, 462)
    expected = {
        **{("en", "independent"): (5, all_photos), ("de", "independent"): (5, joined)},
        **{(code, "translation"): (1, joined) for code in ("en", "de", "fr", "cs", "pt")},
        **{(code, "independent"): (5, all_photos) for code in ("pt", "zh")},
        ("ar", "independent"): (3, all_photos),
        **{(code, "machine"): (1, joined) for code in ("es", "uk")},
        ("hi", "machine"): (1, (6000, 499, 500)),
    }
    found = {(c.split, c.language, c.kind): (c.photos, c.least, c.most) for c in report.counts}
    assert found == {
        (split, *key): (counts[place], captions, captions)
        for key, (captions, counts) in expected.items()
        for place, split in enumerate(("train", "val", "test"))
    }
    assert report.photos == {"train": 6000, "val": 500, "test": 500}
    assert (report.missing, report.leaked, report.without) == ([], [], {})


def test_all_missing_differs_from_some_missing(dataset: Dataset, tmp_path: Path) -> None:
    assert not inspect_dataset(dataset, show=False).all_missing
    for file in tmp_path.iterdir():
        file.unlink()
    assert inspect_dataset(dataset, show=False).all_missing
