import gzip
import json

import pytest
import typer
from typer.testing import CliRunner

from polyglance.cli.features import features_command
from polyglance.errors import PolyglanceError

app = typer.Typer()
app.command()(features_command)


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_folder_of_pictures(blocks, pictures, tmp_path):
    folder, cache = pictures[0].parent, tmp_path / "cache"
    (folder / "broken.JPG").write_bytes(b"no picture")
    first = run(folder, "--feature", "x/global", "--feature", "x/grid2", "--cache", cache)
    assert "x/global: 20 of 21 images, dimension 3\n" in first.stdout
    assert "x/grid2: 20 of 21 images, dimension 3, 4 vectors each\n" in first.stdout
    assert "computed 20 in" in first.stdout
    assert "images/s" in first.stdout
    assert str(cache / "features" / "blocks-p1" / "grid2") in first.stdout
    assert f"skipped 1:\n  {folder / 'broken.JPG'}: not an image" in first.stderr
    assert "nothing to compute" in run(folder, "--feature", "x/grid2", "--cache", cache).stdout
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(path.name for path in pictures), "broken.JPG"]
    )


def test_a_dataset_folder(blocks, pictures, tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    pictures[0].parent.rename(root / "images")
    row = {"split": "train", "captions": {"en": {"independent": ["a"]}}}
    with gzip.open(root / "captions.jsonl.gz", "wt") as handle:
        for path in pictures[:5]:
            handle.write(json.dumps({"image": path.name, **row}) + "\n")
    answer = run(root, "--cache", tmp_path / "cache")
    assert "efficientnet-lite2/global: 5 of 5 images" in answer.stdout


def test_mistakes(blocks, tmp_path):
    with pytest.raises(PolyglanceError, match="there are no images"):
        run(tmp_path)
    with pytest.raises(PolyglanceError, match="no such dataset"):
        run(tmp_path / "missing")
    with pytest.raises(PolyglanceError, match="pass a dataset"):
        run()
    (tmp_path / "a.png").touch()
    with pytest.raises(PolyglanceError, match="expected EXTRACTOR/global"):
        run(tmp_path, "--feature", "x", "--cache", tmp_path / "cache")
    with pytest.raises(PolyglanceError, match=r"no image could be read .*a\.png, empty file"):
        run(tmp_path, "--cache", tmp_path / "cache")


def test_list():
    lines = run("--list").stdout.splitlines()
    assert "efficientnet-lite2       260       1280  9×9" in lines


def test_a_folder_that_cannot_be_read_is_named(blocks, pictures, tmp_path, closed):
    folder = pictures[0].parent
    shut = closed(folder / "private")
    answer = run(folder, "--feature", "x/global", "--cache", tmp_path / "cache")
    assert f"skipped 1:\n  {shut}: the folder cannot be read (Permission denied)" in answer.stderr
    with pytest.raises(PolyglanceError, match=r"private: the folder cannot be read"):
        run(shut, "--feature", "x/global", "--cache", tmp_path / "cache")


def test_an_empty_name_is_refused(blocks, pictures, tmp_path, monkeypatch):
    monkeypatch.chdir(pictures[0].parent)
    with pytest.raises(PolyglanceError, match="is not a folder"):
        run("", "--feature", "x/global", "--cache", tmp_path / "cache")
