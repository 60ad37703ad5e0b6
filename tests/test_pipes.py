"""A named pipe where a file should be is refused; to open it would be to wait forever."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders.fixed.build import LanguageWords
from polyglance.text.embedders.fixed.embedder import VectorsEmbedder
from polyglance.vision.extraction.store import FeatureStore
from tests.conftest import TOY, write_toy
from tests.models.small import table_model

READ = {
    "model": "from polyglance import Model; Model.load(path.parent)",
    "words": "from polyglance.recipes import load_recipe; "
    "from polyglance.text.embedders import VectorsEmbedder; "
    "VectorsEmbedder.load(load_recipe('translator'), path.parent)",
    "store": "from polyglance.vision import FeatureStore; FeatureStore.open(path.parent)",
    "dataset": "from polyglance.data import load_dataset; load_dataset(path.parent)",
    "table": "from polyglance.data import load_dataset; load_dataset(path)",
    "features": "from polyglance.data.convert.frames import _open; _open(path)",
    "recipe": "from polyglance.recipes import load_recipe; load_recipe(str(path))",
    "study": "from polyglance.studies import load_study; load_study(str(path))",
    "json": "from polyglance.storage.files import read_json; read_json(path)",
    "lines": "from polyglance.storage.files import read_lines; list(read_lines(path))",
    "vectors": "from polyglance.text.vectors.read import read_vectors; read_vectors(path)",
    "fingerprint": "from polyglance.data import load_dataset; "
    "from polyglance.data.dataset import dataset_fingerprint; "
    "dataset_fingerprint(load_dataset(path.parent))",
}

PROGRAM = """
import os, sys
from pathlib import Path
from polyglance.errors import PolyglanceError
path = Path(sys.argv[1])
os.mkfifo(path)
try:
    {}
except PolyglanceError as error:
    print(error)
"""


def refusal(kind: str, path: Path) -> str:
    """What reading says once a pipe has taken the place of `path`; a wait is a failure."""
    path.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(READ[kind]), path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def expected(path: Path) -> str:
    return f"{path}: a named pipe, not a regular file; put a plain file in its place"


def toy_model() -> Model:
    return table_model(load_recipe("vsepp", parse_overrides(TOY)), ["dog"])


@pytest.mark.parametrize("name", ["model.json", "vocabulary.json", "model.safetensors"])
def test_every_file_of_a_model(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    toy_model().save(folder)
    assert (folder / name).is_file()
    assert refusal("model", folder / name) == expected(folder / name)


def test_the_files_of_a_model_are_those_tested(tmp_path: Path) -> None:
    toy_model().save(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"model.json", "vocabulary.json", "model.safetensors"}


def test_a_model_with_a_pipe_that_would_be_optional(tmp_path: Path) -> None:
    toy_model().save(tmp_path)
    assert refusal("model", tmp_path / "vectors.json") == expected(tmp_path / "vectors.json")


def test_word_vectors_of_a_model(tmp_path: Path) -> None:
    words = LanguageWords(["dog"], np.ones((1, 3), np.float32))
    VectorsEmbedder(load_recipe("translator"), {"en": words}).save(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2
    for name in reversed(names):
        before = (tmp_path / name).read_bytes()
        assert refusal("words", tmp_path / name) == expected(tmp_path / name)
        (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(before)


@pytest.mark.parametrize("name", ["meta.json", "index.jsonl", "vectors.f16"])
def test_a_feature_store(tmp_path: Path, name: str) -> None:
    FeatureStore.create(tmp_path / "store", 2, "global", "test")
    path = tmp_path / "store" / name
    assert refusal("store", path) == expected(path)


@pytest.mark.parametrize("name", ["captions.jsonl", "captions.jsonl.gz"])
def test_captions_of_a_dataset(tmp_path: Path, name: str) -> None:
    assert refusal("dataset", tmp_path / name) == expected(tmp_path / name)


def test_text_beside_a_dataset(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "toy", photos=8)
    assert len(load_dataset(folder).images) == 8
    path = folder / "text-only.jsonl.gz"
    assert refusal("fingerprint", path) == expected(path)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("table", "captions.csv"),
        ("table", "captions.tsv"),
        ("table", "captions.parquet"),
        ("features", "clip.npy"),
        ("recipe", "mine.yaml"),
        ("study", "mine.yaml"),
        ("json", "report.json"),
        ("lines", "lexicon.tsv"),
        ("lines", "lexicon.tsv.gz"),
        ("vectors", "wiki.vec"),
        ("vectors", "wiki.vec.gz"),
        ("vectors", "wiki.bin"),
    ],
)
def test_other_files(tmp_path: Path, kind: str, name: str) -> None:
    assert refusal(kind, tmp_path / name) == expected(tmp_path / name)


def test_a_device_is_no_file_either(tmp_path: Path) -> None:
    path = tmp_path / "zero.json"
    path.symlink_to("/dev/zero")
    program = PROGRAM.replace("os.mkfifo(path)", "").format(READ["json"])
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith(f"{path}: a device or socket, not a regular file")
