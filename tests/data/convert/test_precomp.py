"""Features and captions as SCAN distributes them."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.data.convert.precomp import convert_precomp
from polyglance.errors import PolyglanceError


def put_split(folder: Path, split: str, rows: np.ndarray, captions: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    np.save(folder / f"{split}_ims.npy", rows)
    (folder / f"{split}_caps.txt").write_text("\n".join(captions) + "\n", encoding="utf-8")


def regions(count: int, boxes: int = 3, dim: int = 4) -> np.ndarray:
    return np.arange(count * boxes * dim, dtype=np.float32).reshape(count, boxes, dim)


def numbered(count: int) -> list[str]:
    return [f"caption {i}" for i in range(count)]


def test_scan_regions_and_five_captions(tmp_path: Path) -> None:
    put_split(tmp_path, "train", regions(2), numbered(10))
    put_split(tmp_path, "dev", regions(1), numbered(5))
    (tmp_path / "train_ids.txt").write_text("391895\n522418\n")
    result = convert_precomp(tmp_path)
    assert [(p.image, p.split) for p in result.images] == [
        ("train-391895", "train"),
        ("train-522418", "train"),
        ("dev-000000", "val"),
    ]
    assert result.images[1].captions == {"en": {"independent": numbered(10)[5:]}}
    assert result.sources == {}
    (features,) = result.features
    assert (features.name, features.dim, features.form, features.total) == ("precomp", 4, "set", 3)
    items = dict(features.items())
    assert list(items) == ["train-391895", "train-522418", "dev-000000"]
    np.testing.assert_array_equal(items["train-522418"], regions(2)[1])


def test_rows_repeated_for_each_caption_become_one_image(tmp_path: Path) -> None:
    rows = np.repeat(np.eye(3, 6, dtype=np.float32), 5, axis=0)
    put_split(tmp_path, "test", rows, numbered(15))
    result = convert_precomp(tmp_path, language="de", name="vgg")
    assert len(result.images) == 3
    assert result.images[1].captions == {"de": {"independent": numbered(15)[5:10]}}
    (features,) = result.features
    assert (features.form, features.total) == ("global", 3)
    np.testing.assert_array_equal(dict(features.items())["test-000001"], np.eye(3, 6)[1:2])


def test_one_caption_an_image_is_not_taken_for_repeats(tmp_path: Path) -> None:
    put_split(tmp_path, "train", np.eye(10, dtype=np.float32), numbered(10))
    assert len(convert_precomp(tmp_path).images) == 10
    with pytest.raises(PolyglanceError, match="rows are not repeated 2 times"):
        convert_precomp(tmp_path, captions_per_image=2)


def test_caption_files_by_language_and_lengths(tmp_path: Path) -> None:
    put_split(tmp_path, "train", regions(2), numbered(4))
    (tmp_path / "train_caps.txt").rename(tmp_path / "train_caps.en.txt")
    (tmp_path / "train_caps.de.txt").write_text("eins\nzwei\n")
    np.save(tmp_path / "train_lens.npy", np.array([1, 3]))
    result = convert_precomp(tmp_path)
    assert result.images[1].captions == {
        "de": {"independent": ["zwei"]},
        "en": {"independent": ["caption 2", "caption 3"]},
    }
    counts = {key: len(vectors) for key, vectors in result.features[0].items()}
    assert counts == {"train-000000": 1, "train-000001": 3}
    np.save(tmp_path / "train_lens.npy", np.array([1, 4]))
    with pytest.raises(PolyglanceError, match=r"train_lens\.npy: needs a number from 1 to 3"):
        convert_precomp(tmp_path)


def test_bytes_literals_become_text(tmp_path: Path) -> None:
    put_split(tmp_path, "train", regions(1), ["b'A dog'", "b'Ein M\\xc3\\xa4dchen'", "b' only"])
    texts = convert_precomp(tmp_path).images[0].captions["en"]["independent"]
    assert texts == ["A dog", "Ein Mädchen", "b' only"]


def test_precomp_errors(tmp_path: Path) -> None:
    put_split(tmp_path, "train", regions(2), numbered(5))
    with pytest.raises(
        PolyglanceError, match=r"caps\.txt has 5 captions for 2 images of .*ims\.npy"
    ):
        convert_precomp(tmp_path)
    put_split(tmp_path, "train", regions(2), ["a", "", "b", "c"])
    with pytest.raises(PolyglanceError, match=r"train_caps\.txt, line 2: the caption is empty"):
        convert_precomp(tmp_path)
    put_split(tmp_path, "train", regions(2), numbered(2))
    put_split(tmp_path, "dev", regions(1, dim=5), numbered(1))
    with pytest.raises(PolyglanceError, match=r"dimension: train_ims\.npy \(2, 3, 4\), dev"):
        convert_precomp(tmp_path)
    (tmp_path / "dev_caps.txt").unlink()
    with pytest.raises(PolyglanceError, match=r"there is no dev_caps\.txt for dev_ims\.npy"):
        convert_precomp(tmp_path)
    (tmp_path / "dev_ims.npy").write_bytes(b"\x93NUMPY broken")
    with pytest.raises(PolyglanceError, match=r"dev_ims\.npy: not a readable \.npy array"):
        convert_precomp(tmp_path)
