import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from polyglance.cli.data import data_app
from polyglance.data import load_folder
from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.store import FeatureStore

MAIN = """
import polyglance.cli
from polyglance.cli.data import data_app

polyglance.cli.app = data_app
polyglance.cli.main()
"""
SRC = Path(__file__).resolve().parents[2] / "src"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(data_app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    command = [sys.executable, "-c", MAIN, *(str(a) for a in arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name in "abc":
        Image.new("RGB", (8, 8), (ord(name), 0, 0)).save(tmp_path / f"{name}.png")
    path = tmp_path / "t.csv"
    path.write_text("path,caption,lang\na.png,A,en\nb.png,B,en\nc.png,C,de\n")
    return path


def test_convert_table_then_info(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = run("convert", "table", table, out, "--images", "copy")
    assert text.strip() == f"{out}: 3 images, 3 captions (de, en), 3 image files"
    assert len(load_folder(out)) == 3
    shown = run("info", out)
    assert "missing image files: none" in shown
    assert "languages without captions in" in shown
    report = json.loads(run("info", out, "--json"))
    assert report["sound"] is True
    assert sum(row["captions"] for row in report["counts"]) == 3
    assert json.loads(run("info", table, "--json", "--fast"))["decoded"] is False


def test_info_fails_when_every_image_is_missing(table: Path) -> None:
    (table.parent / "a.png").unlink()
    assert "missing image files: 1: a.png" in run("info", table)
    for name in "bc":
        (table.parent / f"{name}.png").unlink()
    failed = run_process("info", table)
    assert failed.returncode == 2
    assert "missing image files: 3: a.png; b.png; c.png" in failed.stdout
    message = f"error: {table}: none of the 3 image files exists (the first: "
    assert failed.stderr.startswith(message + str(table.parent / "a.png"))
    assert failed.stderr.count("\n") == 1


def test_layouts_lists_everything() -> None:
    text = run("layouts")
    for name in ("multi30k", "flickr8k-cn", "karpathy", "coco-cn", "xtd10", "precomp", "butd"):
        assert name in text


def test_precomp_features_land_in_a_store(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    rows = np.random.default_rng(0).normal(size=(3, 4, 6)).astype(np.float32)
    np.save(source / "train_ims.npy", rows)
    (source / "train_caps.txt").write_text("".join(f"caption {i}\n" for i in range(15)))
    text = run("convert", "precomp", source, out, "-o", "name=scan")
    assert "3 images, 15 captions (en), 0 image files" in text
    assert "features imported/scan of dimension 6" in text
    store = FeatureStore.open(out / "features" / "scan")
    assert (store.form, store.meta.extractor) == ("set", "imported/scan")
    assert store.keys() == [photo.image for photo in load_folder(out).images]
    np.testing.assert_array_equal(store.get("train-000002"), rows[2].astype(np.float16))
    assert not (out / "images").exists()
    assert "no images folder" in run("info", out)


def test_butd_into_an_existing_dataset(table: Path, tmp_path: Path) -> None:
    out, features = tmp_path / "out", tmp_path / "features"
    run("convert", "table", table, out)
    features.mkdir()
    np.savez(features / "a.npz", feat=np.ones((2, 3), np.float32))
    result = CliRunner().invoke(data_app, ["convert", "butd", str(features), str(out)])
    assert result.exit_code == 0
    assert "2 images have no features (the first is 'b.png')" in result.stderr
    assert FeatureStore.open(out / "features" / "butd").get("a.png").shape == (2, 3)


def test_unknown_names_are_refused(table: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("multi30", table, tmp_path / "o"), r"unknown layout 'multi30' \(did you mean 'multi30k'"),
        (("table", tmp_path / "no", tmp_path / "o"), "no such file or folder"),
        (("table", table, tmp_path / "o", "-o", "lang=en"), r"no option 'lang' .*'language'"),
    ):
        with pytest.raises(PolyglanceError, match=message):
            run("convert", *arguments)
    assert not (tmp_path / "o").exists()


def test_bad_input_is_one_sentence_and_code_2(tmp_path: Path) -> None:
    (tmp_path / "captions.jsonl").write_text('{"image": "a", "split": "train"}\n')
    done = run_process("info", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path}/captions.jsonl, line 1: field 'captions'")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_generate_refuses_a_full_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(PolyglanceError, match="exists and is not empty"):
        run("generate", tmp_path)


def test_generate_writes_a_sound_dataset(tmp_path: Path) -> None:
    out = tmp_path / "world"
    assert run("generate", out, "--photos", 12, "--seed", 1).strip() == f"{out}: 12 images"
    report = json.loads(run("info", out, "--json"))
    assert report["sound"] is True
    assert sum(report["photos"].values()) == 12
