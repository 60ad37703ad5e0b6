"""A toy dataset with imported features: pictures are numbers, so training takes a second."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from polyglance.data import CaptionedImage, save_folder
from polyglance.vision.extraction.store import FeatureStore

# Deadlines would make the tests depend on how busy the machine is.
settings.register_profile("polyglance", deadline=None)
settings.load_profile("polyglance")

WORDS = {
    "en": [["red", "blue", "green", "white"], ["dog", "cat", "car", "tree"], ["runs", "sleeps"]],
    "de": [
        ["rot", "blau", "grün", "weiß"],
        ["hund", "katze", "auto", "baum"],
        ["läuft", "schläft"],
    ],
}
SPLITS = ["train"] * 6 + ["val"] + ["test"]


def write_toy(folder: Path, photos: int = 160, form: str = "global", planted: float = 1.0) -> Path:
    """A dataset whose features are sums of planted word vectors, so captions are learnable."""
    generator = np.random.default_rng(0)
    vectors_of = [generator.normal(size=(len(group), 16)) for group in WORDS["en"]]
    rows, vectors = [], []
    for index in range(photos):
        chosen = [int(generator.integers(len(group))) for group in vectors_of]
        captions = {
            code: {
                "independent": [" ".join(group[c] for group, c in zip(groups, chosen, strict=True))]
                * 2
            }
            for code, groups in WORDS.items()
        }
        captions["en"]["independent"][1] = (
            f"a {WORDS['en'][1][chosen[1]]} that {WORDS['en'][2][chosen[2]]}"
        )
        rows.append(CaptionedImage(f"{index:04}.jpg", SPLITS[index % len(SPLITS)], captions))
        mean = sum(group[c] for group, c in zip(vectors_of, chosen, strict=True))
        count = 1 if form == "global" else 2 + index % 3
        vectors.append(planted * (mean + 0.3 * generator.normal(size=(count, 16))) + 1)
    save_folder(folder, rows)
    with FeatureStore.create(folder / "features" / "toy", 16, form, "imported/toy") as store:
        store.append_many(zip([row.image for row in rows], vectors, strict=True))
    return folder


TOY = [
    "image.feature=imported/toy",
    "text.encoder.hidden=16",
    "text.embedder.word_dim=8",
    "text.embedder.min_count=1",
    "joint.dim=16",
    "training.batch_size=32",
    "training.lr=0.01",
    "training.epochs=3",
]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The toy dataset's folder."""
    return write_toy(tmp_path / "toy")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ../shared/data, or a skip."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not here")
    return folder


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT, or a skip."""
    pytest.importorskip("transformers")
    from tests.text.tiny_bert import write_bert

    return write_bert(tmp_path_factory.mktemp("bert") / "tiny")


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Makes a folder that nobody may read: root could read one without permissions."""
    shut: set[str] = set()
    scandir = os.scandir

    def refuse(path: str | Path = ".") -> Any:
        if str(path) in shut:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    def close(folder: Path) -> Path:
        folder.mkdir()
        shut.add(str(folder))
        return folder

    monkeypatch.setattr(os, "scandir", refuse)
    return close
