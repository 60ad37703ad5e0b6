"""The world as a dataset folder."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from polyglance.data import load_dataset, load_folder
from polyglance.data.generated import VERSION, load_generated, write_generated
from polyglance.data.generated.store import parse_source
from polyglance.errors import PolyglanceError


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_two_runs_are_equal_to_the_byte(tmp_path: Path) -> None:
    write_generated(tmp_path / "a", images=12, seed=5)
    write_generated(tmp_path / "b", images=12, seed=5)
    write_generated(tmp_path / "c", images=12, seed=6)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_scene_does_not_depend_on_how_many_there_are(tmp_path: Path) -> None:
    write_generated(tmp_path / "few", images=10, seed=0)
    write_generated(tmp_path / "many", images=50, seed=0)
    few, many = load_folder(tmp_path / "few"), load_folder(tmp_path / "many")
    assert few.images == many.images[:10]
    name = few.images[7].image
    assert (few.image_folder / name).read_bytes() == (many.image_folder / name).read_bytes()
    assert many.splits == ["train", "val", "test"]
    assert [len(many.split(split)) for split in many.splits] == [40, 5, 5]


def test_the_folder_is_a_dataset(tmp_path: Path) -> None:
    write_generated(tmp_path / "world", images=10, seed=0)
    data = load_dataset(tmp_path / "world")
    assert data.languages == sorted(["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"])
    assert len(data.captions(["de"], ["independent"])) == 20
    assert len(data.captions(["ar"], ["translation"])) == 10
    for path in data.paths():
        with Image.open(path) as picture:
            picture.load()
            assert (picture.format, picture.mode) == ("JPEG", "RGB")


SCRIPT = "from polyglance.data import load_dataset; load_dataset('generated:photos=6,seed=2')"


def run_with(cache: Path, hash_seed: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "POLYGLANCE_CACHE": str(cache), "PYTHONHASHSEED": hash_seed}
    return subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment)


def test_processes_at_once_with_any_hash_seed_write_the_same(tmp_path: Path) -> None:
    running = [run_with(tmp_path / "one", "1"), run_with(tmp_path / "one", "2")]
    running.append(run_with(tmp_path / "two", "3"))
    assert [process.wait() for process in running] == [0, 0, 0]
    folder = Path("generated") / f"v{VERSION}-6-2"
    assert contents(tmp_path / "one" / folder) == contents(tmp_path / "two" / folder)
    assert [path.name for path in (tmp_path / "one" / "generated").iterdir()] == [folder.name]


def test_the_cache_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path))
    first = load_generated("generated:photos=3")
    assert first.name == "generated:photos=3"
    file = first.image_folder.parent / "captions.jsonl.gz"
    line = gzip.decompress(file.read_bytes()).splitlines()[0]
    file.write_bytes(gzip.compress(line))
    assert len(load_generated("generated:photos=3")) == 1


def test_a_kill_leaves_no_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("polyglance.data.generated.store.save_folder", stop)
    with pytest.raises(KeyboardInterrupt):
        write_generated(tmp_path / "world", images=2, seed=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("generated", {"photos": 1000, "seed": 0}),
        ("generated:photos=500,seed=3", {"photos": 500, "seed": 3}),
        ("generated: seed = 4", {"photos": 1000, "seed": 4}),
    ],
)
def test_sources(source: str, expected: dict[str, int]) -> None:
    assert parse_source(source) == expected


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("generated:photo=5", "did you mean 'photos'"),
        ("generated:size=5", "one of: photos, seed"),
        ("generated:photos=many", "photos must be a whole number"),
        ("generated:seed=-1", "seed must be a whole number"),
        ("generated:photos", "photos must be a whole number"),
        ("generated:photos=0", "minimum is 1"),
    ],
)
def test_bad_sources(
    source: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path))
    with pytest.raises(PolyglanceError, match=words):
        load_generated(source)
    assert list(tmp_path.iterdir()) == []


def test_a_full_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PolyglanceError, match="not empty"):
        write_generated(tmp_path, images=1, seed=0)
    assert contents(tmp_path) == {"notes.txt": b"mine"}
