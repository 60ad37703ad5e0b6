"""Networks of other packages in the tower; torchvision is mimicked by its documented interface."""

import enum
import json
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes.schema import BackboneRecipe, ImageRecipe
from polyglance.runtime import export_model, load
from polyglance.vision.extraction.extract import open_backbone
from polyglance.vision.image_network import ImageNetwork
from polyglance.vision.networks import architectures
from polyglance.vision.networks.architectures import architecture, norms
from tests.training.runs import run
from tests.training.test_end_to_end import SMALL, coloured  # noqa: F401  (a fixture)


class Classifier(nn.Sequential):
    """Three stages of two pixels each, batch norm in each, and a head."""

    def __init__(self, hidden=False):
        super().__init__()
        for number, (inputs, outputs) in enumerate([(3, 4), (4, 6), (6, 8)]):
            self.add_module(f"conv{number}", nn.Conv2d(inputs, outputs, 4, 4 if number else 2, 1))
            self.add_module(f"bn{number}", nn.BatchNorm2d(outputs))
            self.add_module(f"relu{number}", nn.ReLU())
        self.add_module("avgpool", nn.AdaptiveAvgPool2d(1))
        self.add_module("flatten", nn.Flatten())
        self.add_module("fc", nn.Linear(8, 10))
        self.hidden = hidden

    def forward(self, pixels):
        return super().forward(-pixels if self.hidden else pixels)


def preset(size, mean):
    found = types.SimpleNamespace(
        crop_size=[size], resize_size=[size + 8], mean=[mean] * 3, std=[0.5] * 3
    )
    found.interpolation = types.SimpleNamespace(value="bilinear")
    return found


class Entry(types.SimpleNamespace):
    def transforms(self):
        return preset(self.size, self.mean)


class Weights(enum.Enum):
    OLD = Entry(url="https://x/small-old.pth", size=48, mean=0.25)
    NEW = Entry(url="https://x/small-new.pth", size=64, mean=0.5)
    DEFAULT = NEW

    @property
    def url(self):
        return self.value.url

    def transforms(self):
        return self.value.transforms()


@pytest.fixture
def torchvision(monkeypatch):
    def get_model(name, weights):
        if name == "reads":  # sizes of layers computed with tensors, as torchvision's RegNet does
            assert torch.ones(3).sum().item() == 3
        return Classifier(name == "hidden")

    models = types.SimpleNamespace(
        get_model=get_model,
        get_model_weights=lambda _name: Weights,
    )
    monkeypatch.setitem(sys.modules, "torchvision", types.SimpleNamespace(models=models))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    architectures._tried.cache_clear()


@pytest.fixture
def weights(tmp_path):
    torch.manual_seed(3)
    net = Classifier()
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.weight.data.uniform_(0.5, 2)
    path = tmp_path / "mine.pth"
    torch.save(net.state_dict(), path)
    return path


def loaded(name):
    """The stages of a network with its weights."""
    found = architecture(name)
    stages = found.build()
    found.load(stages)
    return stages


@pytest.mark.parametrize("name", ["small", "reads"])
def test_stages_begin_where_the_grid_becomes_smaller(torchvision, weights, name):
    found = architecture(f"torchvision:{name}@{weights}")
    stages = found.build()
    assert (found.dim, len(stages), found.cells(64), found.cells(128)) == (8, 3, 2, 4)
    found.load(stages)
    pixels = torch.randn(2, 3, 64, 64)
    expected = open_backbone(f"torchvision:small@{weights}", weights.parent)(pixels.numpy())
    with torch.no_grad():
        grid = nn.Sequential(*stages).eval()(pixels)
    np.testing.assert_allclose(grid.permute(0, 2, 3, 1), expected.grid, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torchvision:hidden@{}", "is not a sequence of stages"),
        ("transformers:{}", "cannot be trained"),
        ("timm:hf_hub:x/y@{}", "cannot be trained"),
    ],
)
def test_what_is_not_a_sequence_is_refused(torchvision, weights, name, message):
    with pytest.raises(PolyglanceError, match=message):
        loaded(name.format(weights))


def test_the_scale_and_shift_of_batch_norm_stay_frozen(torchvision, weights):
    backbone = BackboneRecipe(train="all", input_size=64)
    found = ImageNetwork(
        ImageRecipe(feature=f"torchvision:small@{weights}/grid", backbone=backbone), backbone
    )
    fixed = list(norms(list(found.stages)))
    assert len(fixed) == 6
    trainable = {id(one) for one in found.parameters() if one.requires_grad}
    found.thaw(9, trainable)
    found(torch.randint(256, (2, 64, 64, 3), dtype=torch.uint8))[0].sum().backward()
    assert all(one.grad is None for one in fixed)
    assert len(trainable) == len(list(found.parameters())) - len(fixed)


def test_a_weights_file_has_its_own_preprocessing(torchvision, weights):
    def size(path):
        return open_backbone(f"torchvision:small@{path}", weights.parent).preprocessing

    assert size(weights).size == 64
    old = weights.rename(weights.with_name("small-old.pth"))
    assert (size(old).size, size(old).mean[0]) == (48, 63.75)
    own = {"size": 40, "crop": 0.5, "mean": [0, 0, 1], "interpolation": "bicubic"}
    old.with_suffix(".json").write_text(json.dumps(own))
    found = size(old)
    assert (found.size, found.short_side, found.mean) == (40, 80, (0, 0, 255))
    assert (found.std, found.interpolation) == ((127.5,) * 3, "bicubic")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"sizes": 40}', "unknown field 'sizes'"),
        ('{"crop": 2}', "crop above 0 and at most 1"),
        ('{"interpolation": "magic"}', "unknown interpolation 'magic'"),
        ("[]", "cannot read the preprocessing"),
    ],
)
def test_a_bad_preprocessing_is_one_sentence(torchvision, weights, text, message):
    weights.with_suffix(".json").write_text(text)
    with pytest.raises(PolyglanceError, match=message):
        open_backbone(f"torchvision:small@{weights}", weights.parent)


def test_a_trained_model_needs_neither_the_weights_nor_trust(
    torchvision,
    weights,
    coloured,  # noqa: F811
    tmp_path,
):
    weights.with_suffix(".json").write_text('{"size": 64, "mean": [0.1, 0.2, 0.3]}')
    feature = f"image.feature=torchvision:small@{weights}/grid"
    own = [one for one in SMALL if "input_size" not in one]
    result = run(coloured, tmp_path / "run", feature, "image.backbone.train=all", small=own)
    network = result.model.network.image.backbone
    trained = {name for name, one in network.named_parameters() if one.requires_grad}
    assert trained
    assert not any("1.weight" in name for name in trained)  # of batch norms
    images = sorted((coloured / "images").iterdir())[:5]
    expected = result.model.encode_images(images, show_progress=False)
    weights.unlink()
    weights.with_suffix(".json").unlink()
    again = Model.load(tmp_path / "run")
    assert again.network.image.backbone.preprocessing.mean == pytest.approx((25.5, 51, 76.5))
    np.testing.assert_array_equal(again.encode_images(images, show_progress=False), expected)
    export_model(again, tmp_path / "out", cache=tmp_path / "cache")
    found = load(tmp_path / "out").encode_images(images, tmp_path / "cache", show_progress=False)
    assert np.abs(found - expected).max() <= 1e-5
