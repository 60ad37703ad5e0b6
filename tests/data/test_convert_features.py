import base64
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import CaptionedImage, save_folder
from polyglance.data.convert import ImportedFeatures, write_features
from polyglance.data.convert.butd import convert_butd
from polyglance.data.convert.precomp import convert_precomp
from polyglance.data.convert.write import match_names
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


def tsv_line(identity: str, vectors: np.ndarray, boxes: int | None = None) -> str:
    encoded = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
    area = base64.b64encode(np.zeros((len(vectors), 4), "<f4").tobytes()).decode()
    return f"{identity}\t640\t480\t{boxes or len(vectors)}\t{area}\t{encoded}\r\n"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    names = ["COCO_val2014_000000000042.jpg", "1000268201_693b08cb0e.jpg", "plain.png"]
    folder = tmp_path / "dataset"
    save_folder(
        folder, [CaptionedImage(name, "train", {"en": {"independent": ["x"]}}) for name in names]
    )
    return folder


class Recorder:
    """Stands in for the feature store: keeps what it is given."""

    def __init__(self) -> None:
        self.items: dict[str, np.ndarray] = {}

    def __call__(self, folder: Path, features: ImportedFeatures) -> None:
        assert folder.is_dir()
        (folder / "meta.json").write_text(features.form)
        self.items = {key: np.array(value) for key, value in features.items()}


def test_butd_tsv_with_any_number_of_boxes(tmp_path: Path, dataset: Path) -> None:
    path = tmp_path / "trainval_resnet101_faster_rcnn_genome.tsv"
    lines = [
        tsv_line("42", regions(1, 2)[0]),
        tsv_line("1000268201", regions(1, 5)[0]),
        tsv_line("42", regions(1, 1)[0]),
        tsv_line("777", regions(1, 1)[0]),
    ]
    path.write_text("".join(lines), newline="")
    (features,) = convert_butd(path, name="regions").features
    assert (features.dim, features.form) == (4, "set")
    store = Recorder()
    notes = write_features(dataset, features, store)
    assert {name: value.shape for name, value in store.items.items()} == {
        "COCO_val2014_000000000042.jpg": (2, 4),
        "1000268201_693b08cb0e.jpg": (5, 4),
    }
    np.testing.assert_array_equal(store.items["1000268201_693b08cb0e.jpg"], regions(1, 5)[0])
    assert notes == [
        "1 features belong to no image of the dataset and were left out",
        "1 images have no features (the first is 'plain.png')",
    ]
    assert (dataset / "features/regions/meta.json").read_text() == "set"
    with pytest.raises(PolyglanceError, match="--force to replace it"):
        write_features(dataset, features, store)
    write_features(dataset, features, store, force=True)
    assert [path.name for path in (dataset / "features").iterdir()] == ["regions"]


def test_butd_folder_of_arrays(tmp_path: Path, dataset: Path) -> None:
    folder = tmp_path / "npz"
    folder.mkdir()
    vectors = regions(1, 3)[0]
    boxes = np.zeros((3, 4), np.float32)
    np.savez(folder / "COCO_val2014_000000000042.npz", x=vectors.T, bbox=boxes, num_bbox=3)
    np.savez(folder / "1000268201.npz", feat=vectors[:2])
    np.save(folder / "plain.npy", vectors[:1])
    store = Recorder()
    (features,) = convert_butd(folder).features
    assert write_features(dataset, features, store) == []
    np.testing.assert_array_equal(store.items["COCO_val2014_000000000042.jpg"], vectors)
    np.testing.assert_array_equal(store.items["1000268201_693b08cb0e.jpg"], vectors[:2])
    np.testing.assert_array_equal(store.items["plain.png"], vectors[:1])


def test_butd_global_vectors(tmp_path: Path) -> None:
    np.save(tmp_path / "42.npy", np.ones(7, np.float32))
    (features,) = convert_butd(tmp_path).features
    assert (features.form, features.dim) == ("global", 7)


def test_butd_errors_leave_nothing_behind(tmp_path: Path, dataset: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_text(tsv_line("42", regions(1)[0]) + tsv_line("43", regions(1)[0], boxes=5))
    (features,) = convert_butd(path).features
    with pytest.raises(PolyglanceError, match=r"f\.tsv, line 2: features are not base64 of 5"):
        write_features(dataset, features, Recorder())
    path.write_text(tsv_line("9", regions(1)[0]))
    (features,) = convert_butd(path).features
    with pytest.raises(PolyglanceError, match="none of the 1 image ids"):
        write_features(dataset, features, Recorder())
    assert list((dataset / "features").iterdir()) == []
    path.write_text("42\t1\n")
    with pytest.raises(PolyglanceError, match=r"line 1: expected the fields image_id"):
        convert_butd(path)
    with pytest.raises(PolyglanceError, match="holds no features"):
        convert_butd(dataset)


def test_ambiguous_numbers_match_nothing() -> None:
    names = ["COCO_val2014_000000000042.jpg", "COCO_train2014_000000000042.jpg"]
    matched = match_names(names)
    assert "42" not in matched
    assert matched["COCO_train2014_000000000042"] == names[1]
