"""The folder of an export: whole or not at all, and checked whenever it is read."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.runtime import export_model, load
from polyglance.runtime.manifest import FILE
from tests.runtime.trained import text_difference, trained


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    trained(folder, "vsepp")
    export_model(folder / "run", folder / "out")
    return folder


@pytest.mark.parametrize(("precision", "largest"), [("fp32", 1e-5), ("fp16", 2e-3), ("int8", 3e-2)])
def test_the_command(run: Path, tmp_path: Path, precision: str, largest: float) -> None:
    out = tmp_path / "out"
    arguments = ["export", str(run / "run"), "--onnx", str(out), "--precision", precision]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert f"exported: vsepp, {precision}" in done.output
    assert "without the image network: its features, 'imported/toy'" in done.output
    other = load(out)
    difference = text_difference(Model.load(run / "run"), other)
    assert difference <= largest
    if precision != "fp32":
        assert difference > 0
        assert (out / "text.onnx").stat().st_size < (run / "out" / "text.onnx").stat().st_size
    assert other.precision == precision


def test_the_same_model_has_the_same_id(run: Path, tmp_path: Path) -> None:
    assert export_model(run / "run", tmp_path / "again").id == load(run / "out").id


def damaged(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def other_field(path: Path) -> None:
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "similarity": "order"}))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("text.onnx", damaged, "text.onnx: is damaged or was changed"),
        ("image.onnx", Path.unlink, "image.onnx: is missing"),
        ("embedder/more.json", Path.touch, "more.json: does not belong here"),
        ("embedder/vocabulary.json", damaged, "vocabulary.json: is damaged"),
        (FILE, other_field, "was changed after the export"),
        (FILE, Path.unlink, "not a model"),
    ],
)
def test_every_file_is_checked(
    run: Path, tmp_path: Path, name: str, change: Callable[[Path], None], message: str
) -> None:
    shutil.copytree(run / "out", tmp_path / "out")
    change(tmp_path / "out" / name)
    with pytest.raises(PolyglanceError, match=message):
        load(tmp_path / "out")


def test_a_folder_with_content_stays(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PolyglanceError, match="not empty"):
        export_model(run / "run", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_failed_export_leaves_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise PolyglanceError("the disk is full")

    monkeypatch.setattr("polyglance.runtime.conversion.export.write_json", full)
    with pytest.raises(PolyglanceError, match="disk is full"):
        export_model(run / "run", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_pictures_need_the_image_network(run: Path) -> None:
    with pytest.raises(PolyglanceError, match="without its image network"):
        load(run / "out").encode_images(["a.jpg"])
