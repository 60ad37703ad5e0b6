"""EmbN, PAR-EmbN, MULE and SMALR: trained on toy data, resumed, and with holes in the data."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.text.closed import ClosedVocabularies
from polyglance.training import train, trainer
from tests.conftest import TOY
from tests.training.test_trainer import same

SMALL = [
    *TOY,
    "image.hidden=16",
    "image.dropout=0",
    "universal.trained=8",
    "universal.dim=8",
    "universal.updates=20",
    "universal.latent=12",
    "universal.candidates=3",
    "constraints.pretrain_epochs=1",
]
LATENT = ["universal.frequent=4", "universal.dim=4"]


def run(data: Path, out: Path, recipe: str, *overrides: str, resume: bool = False):
    chosen = load_recipe(recipe, [*SMALL, *overrides])
    cache = data.parent / "cache"
    return train(chosen, load_dataset(data), out, resume, cache, show_progress=False)


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("embn", ["data.languages=[de]", "constraints.pretrain_epochs=0"]),
        ("par-embn", []),
        ("mule", []),
        ("smalr-la", ["universal.frequent=0"]),
        ("smalr-hem", LATENT),
        ("smalr", LATENT),
    ],
)
def test_every_recipe_learns(toy: Path, tmp_path: Path, recipe: str, changes: list[str]) -> None:
    result = run(toy, tmp_path / "run", recipe, "training.epochs=15", *changes)
    # 20 photographs are judged, and many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 50
    loaded = Model.load(tmp_path / "run")
    assert isinstance(loaded.reader, ClosedVocabularies)
    np.testing.assert_allclose(
        loaded.encode_text(["ein hund läuft", "rot"], "de"),
        result.model.encode_text(["ein hund läuft", "rot"], "de"),
        atol=1e-6,
    )
