"""An image network that was trained in the tower, exported with the model."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.conftest import TOY
from tests.runtime.encoding.test_images import pictures
from tests.vision.networks.test_backbones import needs

pytestmark = needs("efficientnet-lite0")
SETTINGS = ["image.backbone.train=all", "image.backbone.input_size=100"]


@pytest.fixture(scope="module", params=["nce:global", "vse-infinity:grid", "vse-infinity:grid3"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Model, ExportedModel, Path]:
    """A model whose network is no longer the pretrained one, loaded again, and its export."""
    name, form = request.param.split(":")
    changes = [*TOY, *SETTINGS, f"image.feature=efficientnet-lite0/{form}"]
    squash = f"image.backbone.squash={str(form == 'grid').lower()}"
    recipe = load_recipe(name, parse_overrides([*changes, squash]))
    folder = tmp_path_factory.mktemp(name)
    torch.manual_seed(0)
    model = Model(recipe, TableEmbedder(recipe, {"": Vocabulary(["dog"])}), 1280, ["en"])
    assert model.network.image.backbone is not None
    model.network.image.backbone.load_pretrained()
    with torch.no_grad():
        for weight in model.network.image.backbone.parameters():
            weight.mul_(1 + 0.05 * torch.randn_like(weight))
    model.save(folder / "model")
    export_model(model, folder / "out", cache=folder / "cache")
    return Model.load(folder / "model"), load(folder / "out"), folder


def test_the_same_embeddings(pair: tuple[Model, ExportedModel, Path]) -> None:
    model, other, folder = pair
    expected = model.encode_images(pictures(), show_progress=False)
    found = other.encode_images(pictures(), folder / "cache", show_progress=False)
    assert found.shape == (3, 16)
    assert np.abs(found - expected).max() <= 1e-5
    assert np.abs(expected[0] - expected[1]).max() > 1e-3
    assert not (folder / "cache" / "features").exists()


def test_the_graph_has_plain_convolutions(pair: tuple[Model, ExportedModel, Path]) -> None:
    graph = onnx.load(pair[2] / "out" / "backbone.onnx").graph
    stored = {one.name for one in graph.initializer}
    convolutions = [node for node in graph.node if node.op_type == "Conv"]
    assert len(convolutions) == 49
    assert all(set(node.input[1:]) <= stored for node in convolutions)
    assert not {node.op_type for node in graph.node} & {"MatMul", "Gemm", "Sqrt"}
