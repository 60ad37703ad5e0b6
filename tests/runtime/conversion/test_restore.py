"""Exported sentence encoders, restored: the weights are found, and give what the export gives."""

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from polyglance import Model
from polyglance.core.shipped import PLACE
from polyglance.errors import PolyglanceError
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.runtime.conversion.initializers import graph_weights
from polyglance.runtime.conversion.restore import on_lattice, restore
from polyglance.runtime.manifest import is_exported
from tests.runtime.trained import trained
from tests.text.subword_models import TEXTS, sentence_model

MORE = [*TEXTS, "the dog and the hat", "x" * 80]
CLASSES = ("image.feature=efficientnet-lite0/global", "image.head.kind=classes", "image.head.top=3")
NO_HASHES = ("text.embedder.buckets=0", "text.word_dropout=0", "text.encoder.subword_drop=0")


def filled(*overrides: str) -> Model:
    """A model of random weights whose pieces span few levels, as the package's do."""
    model = sentence_model(*overrides)
    network = model.network
    if network.text.words is not None:
        network.text.words.weight.data.normal_()
    if network.image.classes is not None:
        network.image.classes.weight.normal_()
    network.text.encoder.pieces.rows.random_(20, 35)
    return model


def cosines(source: ExportedModel | Model, model: Model) -> np.ndarray:
    """Of texts and of features, the least first."""
    features = np.random.default_rng(1).normal(size=(9, 16)).astype(np.float32)

    def images(one: ExportedModel | Model) -> np.ndarray:
        if isinstance(one, ExportedModel):
            return one.encode_features(features)
        with torch.no_grad():
            return one.network.embed_images(torch.from_numpy(features)).numpy()

    texts = (source.encode_text(MORE) * model.encode_text(MORE)).sum(1)
    return np.sort(np.concatenate([texts, (images(source) * images(model)).sum(1)]))


@pytest.mark.parametrize("changes", [(), NO_HASHES, CLASSES])
def test_of_full_precision_every_weight_is_as_it_was(tmp_path: Path, changes) -> None:
    model = filled(*changes)
    export_model(model, tmp_path / "out")
    found = restore(tmp_path / "out")
    wanted, state = model.network.state_dict(), found.network.state_dict()
    assert set(state) == set(wanted)
    for name, value in wanted.items():
        if ".pieces." not in name:
            assert state[name].equal(value), name
    ids = torch.arange(len(model.embedder.pieces))
    pieces = (one.network.text.encoder.pieces(ids) for one in (model, found))
    torch.testing.assert_close(*pieces, atol=1e-5, rtol=0)
    assert found.recipe == model.recipe
    assert found.languages == model.languages


@pytest.mark.parametrize(("precision", "bits"), [("fp16", 8), ("int8", 8), ("int8", 4)])
def test_in_few_bits_embeddings_are_those_of_the_export(tmp_path: Path, precision, bits) -> None:
    model = filled(*CLASSES)
    export_model(model, tmp_path / "out", precision, table_bits=bits)
    found = restore(tmp_path / "out")
    assert cosines(load(tmp_path / "out"), found)[0] > 0.999


@pytest.mark.skipif(not is_exported(PLACE), reason="the package carries no model")
def test_the_packages_own_model_can_be_trained_on() -> None:
    source, model = load(PLACE), restore(PLACE)
    texts = ["zwei Hunde im Schnee", "a red hat", "犬", "два кота", "un vélo"]
    assert (source.encode_text(texts) * model.encode_text(texts)).sum(1).min() > 0.999
    features = np.abs(np.random.default_rng(0).normal(size=(8, model.feature_dim)))
    with torch.no_grad():
        images = model.network.embed_images(torch.from_numpy(features).float()).numpy()
    assert (source.encode_features(features.astype(np.float32)) * images).sum(1).min() > 0.999


def test_pieces_that_fit_no_lattice_are_the_nearest(tmp_path: Path) -> None:
    model = filled()
    model.network.text.encoder.pieces.rows.random_(0, 255)
    export_model(model, tmp_path / "out", "int8", table_bits=4)
    assert cosines(load(tmp_path / "out"), restore(tmp_path / "out"))[0] > 0.999


def test_codes_of_a_lattice_are_found_again() -> None:
    codes = np.random.default_rng(0).integers(7, 40, (50, 12))
    values = (-3.3 + 0.25 * codes).astype(np.float32)
    values[3] += 0.1  # one row that is off
    found, low, step = on_lattice(values, np.array([0.25] * 3 + [0.3] + [0.25] * 46, np.float32))
    assert step == 0.25
    np.testing.assert_allclose(low + step * found[4:].astype(np.float32), values[4:], atol=1e-5)
    assert np.abs(low + step * found[3] - values[3]).max() <= 0.126
    plain, low, step = on_lattice(values)
    assert step == pytest.approx((values.max() - values.min()) / 255)
    assert plain.min() == 0
    assert plain.max() == 255
    assert np.abs(low + step * plain - values).max() <= 0.501 * step


def test_other_models_are_refused(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, "vsepp")
    export_model(model, tmp_path / "out")
    with pytest.raises(PolyglanceError, match=r"text\.encoder\.kind=gru.*folder of the run"):
        restore(tmp_path / "out")


def test_a_matrix_that_could_be_several_is_not_guessed(tmp_path: Path) -> None:
    model = filled()
    export_model(model, tmp_path / "out")
    sizes = {name: tuple(v.shape) for name, v in model.network.state_dict().items()}
    path = tmp_path / "text.onnx"
    shutil.copy(tmp_path / "out" / "text.onnx", path)
    assert "text.encoder.dense.first.weight" in graph_weights(path, sizes)
    graph = onnx.load(path)
    for node in graph.graph.node:
        node.name = node.name.replace("/dense/first/", "/").replace("/dense/around/", "/")
    onnx.save(graph, path)
    found = graph_weights(path, sizes)
    assert "text.encoder.dense.first.weight" not in found
    assert "text.encoder.dense.around.weight" not in found
    assert "text.encoder.dense.second.weight" in found
    path.write_bytes(b"no graph")
    with pytest.raises(PolyglanceError, match="not an ONNX graph"):
        graph_weights(path, sizes)
