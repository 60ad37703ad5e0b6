"""A model that was exported with its image network, trained on with that network frozen."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.runtime import export_model, load
from polyglance.runtime.conversion.restore import restore
from polyglance.vision.networks.onnx_network import open_onnx
from tests.runtime.encoding.test_images import pictures
from tests.text.subword_models import sentence_model
from tests.vision.networks.test_backbones import needs

pytestmark = needs("efficientnet-lite0")
SETTINGS = ["image.feature=efficientnet-lite0/global", "image.backbone.input_size=64"]


@pytest.fixture(scope="module", params=[(False, False), (False, True), (True, True)])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    squash, whole = request.param
    model = sentence_model(*SETTINGS, f"image.backbone.squash={squash}", feature_dim=1280)
    assert model.network.image.backbone is not None
    model.network.image.backbone.load_pretrained()
    folder = tmp_path_factory.mktemp("exported") / "out"
    made = export_model(model, folder, "int8", whole=whole)
    assert made.preparation is not None
    assert (made.preparation.whole, made.preparation.squash) == (whole, squash and not whole)
    return folder


def test_features_come_from_the_exported_network(exported: Path, tmp_path: Path) -> None:
    source, model = load(exported), restore(exported)
    assert model.recipe.image.backbone is None
    assert model.recipe.image.feature.startswith(f"onnx:{exported / 'backbone.onnx'}@")
    expected = source.encode_images(pictures(), show_progress=False)
    found = model.encode_images(pictures(), tmp_path / "cache", show_progress=False)
    assert (expected * found).sum(1).min() > 0.9999
    export_model(model, tmp_path / "again", "int8", cache=tmp_path / "cache")
    again = load(tmp_path / "again").encode_images(pictures(), show_progress=False)
    assert (expected * again).sum(1).min() > 0.999
    names = ("backbone.onnx", "backbone.json")
    assert all((tmp_path / "again" / n).read_bytes() == (exported / n).read_bytes() for n in names)


def test_another_network_is_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_MODEL", str(exported))
    feature = restore(exported).recipe.image.feature
    assert feature.startswith("onnx:base@")
    name = feature.removeprefix("onnx:").removesuffix("/global")
    network = open_onnx(name)
    assert network.dims() == (1280, 0 if network.preprocessing.whole else 1280)
    assert np.isfinite(
        network(np.zeros((1, *network.preprocessing.shape), np.float32)).pooled
    ).all()
    with pytest.raises(PolyglanceError, match="is not the network"):
        open_onnx("base@" + 12 * "0")
    with pytest.raises(PolyglanceError, match="no such file"):
        open_onnx(f"{tmp_path / 'none.onnx'}@1")
