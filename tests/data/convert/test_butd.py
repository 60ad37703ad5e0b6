"""Bottom-up features, as a TSV file or arrays."""

import base64
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import CaptionedImage, save_folder
from polyglance.data.convert import ImportedFeatures, write_features
from polyglance.data.convert.butd import convert_butd
from polyglance.data.convert.write import match_names
from polyglance.errors import PolyglanceError


def regions(count: int, boxes: int = 3, dim: int = 4) -> np.ndarray:
    return np.arange(count * boxes * dim, dtype=np.float32).reshape(count, boxes, dim)


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
    with pytest.raises(PolyglanceError, match="contains no features"):
        convert_butd(dataset)


def test_ambiguous_numbers_match_nothing() -> None:
    names = ["COCO_val2014_000000000042.jpg", "COCO_train2014_000000000042.jpg"]
    matched = match_names(names)
    assert "42" not in matched
    assert matched["COCO_train2014_000000000042"] == names[1]
