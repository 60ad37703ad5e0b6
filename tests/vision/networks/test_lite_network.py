"""EfficientNet-Lite as it is trained, against the package that its weights come from."""

import pytest
import torch
from torch import nn

from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.int8 import simplified
from polyglance.vision.networks.lite import export, grid_module
from polyglance.vision.networks.lite_network import Convolution, copy_pretrained, lite_stages
from tests.vision.networks.test_backbones import needs


@needs("efficientnet-lite0")
@pytest.mark.parametrize("size", [224, 161])
def test_the_pretrained_network_gives_the_package_s_grid(size):
    original = grid_module(backbones.get("efficientnet-lite0"))
    stages = lite_stages(0)
    copy_pretrained(original.network, stages)
    torch.manual_seed(0)
    pixels = torch.randn(2, 3, size, size)
    with torch.no_grad():
        found = nn.Sequential(*stages)(pixels)
        assert found.shape == (2, 1280, -(-size // 32), -(-size // 32))
        if size == 224:  # the package pads for this size, whatever comes
            torch.testing.assert_close(found, original(pixels), atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_stages_have_the_published_sizes(number):
    efficientnet = pytest.importorskip("efficientnet_lite_pytorch")
    with torch.device("meta"):
        stages = lite_stages(number)
        original = efficientnet.EfficientNet.from_name(f"efficientnet-lite{number}")
    kernels = [tuple(p.weight.shape) for p in original.modules() if isinstance(p, nn.Conv2d)]
    own = [part for stage in stages for part in stage.modules() if isinstance(part, Convolution)]
    assert [tuple(part.weight.shape) for part in own] == kernels
    assert len(stages) == 5


def test_a_convolution_folds_its_frozen_norm():
    torch.manual_seed(0)
    own = Convolution(3, 4, kernel=3, stride=2)
    norm = nn.BatchNorm2d(4, eps=1e-3).eval()
    for name, value in (("gain", norm.weight), ("shift", norm.bias)):
        getattr(own, name).normal_()
        value.data.copy_(getattr(own, name))
    own.mean.normal_()
    own.variance.uniform_(0.5, 2.0)
    norm.running_mean.copy_(own.mean)
    norm.running_var.copy_(own.variance)
    images = torch.randn(2, 3, 8, 8)
    padded = nn.functional.pad(images, [0, 1, 0, 1])  # an even size has its padding at the end
    expected = nn.functional.relu6(norm(nn.functional.conv2d(padded, own.weight, stride=2)))
    torch.testing.assert_close(own(images), expected)
    assert {name for name, _ in own.named_parameters()} == {"weight"}


@pytest.mark.parametrize("size", [64, 65])
def test_onnxruntime_merges_the_padding_of_an_exported_network(size):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    network = nn.Sequential(Convolution(3, 8, 3, 2), Convolution(8, 8, 5, 2, groups=8)).eval()
    for layer in network:
        layer.fold()
    nodes = onnx.load_from_string(simplified(export(network, size))).graph.node
    assert "Pad" not in {node.op_type for node in nodes}
