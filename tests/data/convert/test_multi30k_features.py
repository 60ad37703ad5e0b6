"""Arrays beside Multi30K: row and line of the split's list are one image."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.data.convert.multi30k_features import convert_multi30k_features
from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.extract import load_features
from tests.data.convert.test_multi30k import checkout

__all__ = ["checkout"]

LISTS = {
    "train": ["1000092795.jpg", "10002456.jpg"],
    "val": ["1018148011.jpg"],
    "test_2016_flickr": ["1007129816.jpg"],
}


def put_arrays(folder: Path, network: str = "-resnet50-avgpool", dim: int = 4) -> dict:
    """An array for every split, as float16; image name → its row."""
    folder.mkdir(exist_ok=True)
    rng, rows = np.random.default_rng(0), {}
    for split, names in LISTS.items():
        values = rng.normal(size=(len(names), dim)).astype(np.float16)
        np.save(folder / f"{split}{network}.npy", values)
        rows |= dict(zip(names, values, strict=True))
    return rows


def put_lists(folder: Path) -> None:
    for split, names in LISTS.items():
        (folder / f"{split}.txt").write_text("".join(f"{name}\n" for name in names))


def test_features_come_beside_a_converted_checkout(checkout: Path, tmp_path: Path) -> None:
    rows, out = put_arrays(tmp_path / "npy"), tmp_path / "out"
    convert = ["data", "convert"]
    first = CliRunner().invoke(app, [*convert, "multi30k", str(checkout), str(out)])
    assert first.exit_code == 0, first.output
    second = CliRunner().invoke(
        app,
        [
            *convert,
            "multi30k-features",
            str(tmp_path / "npy"),
            str(out),
            "-o",
            f"splits={checkout}",
        ],
    )
    assert second.exit_code == 0, second.output
    dataset = load_dataset(out)
    features = load_features(dataset, "imported/resnet50-avgpool")
    names = [entry.image for entry in dataset.images]
    for index, name in enumerate(names):
        assert features.available[index] == (name in rows)
        if name in rows:
            found = features.gather_global(np.array([index]), np.float16)[0]
            np.testing.assert_array_equal(found, rows[name])
    assert set(rows) <= set(names)


def test_lists_beside_the_arrays_and_a_name(tmp_path: Path) -> None:
    rows = put_arrays(tmp_path, network="")
    (tmp_path / "test_2016_flickr.npy").rename(tmp_path / "test.npy")
    put_lists(tmp_path)
    (features,) = convert_multi30k_features(tmp_path, name="resnet50").features
    assert (features.name, features.dim, features.form, features.total) == (
        "resnet50",
        4,
        "global",
        4,
    )
    found = dict(features.items())
    assert found.keys() == rows.keys()
    for name, vectors in found.items():
        np.testing.assert_array_equal(vectors, rows[name][None])


def test_several_networks_need_a_choice(tmp_path: Path) -> None:
    put_arrays(tmp_path)
    put_lists(tmp_path)
    np.save(tmp_path / "train-vgg19-fc7.npy", np.ones((2, 3), np.float32))
    with pytest.raises(
        PolyglanceError, match=r"several networks; choose one with -o network= \(resnet50-av"
    ):
        convert_multi30k_features(tmp_path)
    (vgg,) = convert_multi30k_features(tmp_path, network="vgg19-fc7").features
    assert (vgg.name, vgg.dim, vgg.total) == ("vgg19-fc7", 3, 2)
    with pytest.raises(PolyglanceError, match="no arrays of network 'resnet18'"):
        convert_multi30k_features(tmp_path, network="resnet18")


def test_features_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="not a folder of arrays"):
        convert_multi30k_features(tmp_path)
    put_arrays(tmp_path)
    with pytest.raises(PolyglanceError, match=r"no list of its images, .*-o splits=FOLDER"):
        convert_multi30k_features(tmp_path)
    put_lists(tmp_path)
    (tmp_path / "train.txt").write_text("1.jpg\n")
    with pytest.raises(PolyglanceError, match=r"has 2 rows, but .*train\.txt has 1 images"):
        convert_multi30k_features(tmp_path)
    put_lists(tmp_path)
    np.save(tmp_path / "val-resnet50-avgpool.npy", np.ones((1, 5), np.float16))
    with pytest.raises(PolyglanceError, match="differ in dimension"):
        convert_multi30k_features(tmp_path)
    np.save(tmp_path / "val-resnet50-avgpool.npy", np.ones((1, 5, 2), np.float16))
    with pytest.raises(PolyglanceError, match=r"expected floats of \[images, dim\]"):
        convert_multi30k_features(tmp_path)
    (tmp_path / "val-resnet50-avgpool.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(PolyglanceError, match=r"not a readable \.npy"):
        convert_multi30k_features(tmp_path)
