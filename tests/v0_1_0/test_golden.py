"""Version 0.1.0 as it was: its models load and embed as before, its runs train to the same weights.

The files beside this one were made by version 0.1.0 (commit 41d5920): `recipes/` are recipe files
in its form, `package/` the recipes it came with, `models/` what six updates of each gave and
`expected.npz` their embeddings; `runs.npz` has the embeddings and sums of the weights after six
updates without the noise of `quiet.py`, which would make them depend on the processor. `mule` is
evaluated once, at its end: whether its third or its sixth update is the better one hangs on the
last bit of a score.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.lib.npyio import NpzFile

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.recipes import load_recipe
from polyglance.training import train
from tests.v0_1_0.quiet import quiet

HERE = Path(__file__).parent
EXPECTED = np.load(HERE / "expected.npz")
RUNS = np.load(HERE / "runs.npz")
TEXTS = {
    "en": ["a red dog runs", "zebra cat", "green tree"],
    "de": ["rot hund läuft", "katze"],
    "nl": ["een rood hond", "kat honden"],
}
REGIONS = {"liwe", "chargru", "liwe-glove", "scan", "imram", "vse-infinity", "vsrn", "liwe-nl"}
MODELS = sorted(path.name for path in (HERE / "models").iterdir())
CHANGED = {"dictionary"}
"""Its words are looked up in lower case since, as they are written in captions."""
RECIPES = sorted({path.stem for path in (HERE / "recipes").iterdir()} - CHANGED)
TOLERANCE = 5e-4
"""Rounding differs by processor, and a training amplifies it: up to 1.3e-4 on an Intel Xeon."""


def data_of(name: str) -> Path:
    return HERE / "data" / ("regions" if name in REGIONS else "global")


def vectors(embeddings: np.ndarray) -> np.ndarray:
    """Embeddings as an array: of a cross-attention model, all vectors of all sets."""
    return embeddings if isinstance(embeddings, np.ndarray) else embeddings.flat


def check_embeddings(
    model: Model, name: str, expected: NpzFile, cache: Path, tolerance: float
) -> None:
    checked = 0
    for code, texts in TEXTS.items():
        if f"{name}/text/{code}" in expected:
            found = vectors(model.encode_text(texts, code))
            np.testing.assert_allclose(found, expected[f"{name}/text/{code}"], atol=tolerance)
            checked += 1
    assert checked
    images = model.encode_dataset(load_dataset(data_of(name)).split("test"), cache)
    np.testing.assert_allclose(vectors(images), expected[f"{name}/images"], atol=tolerance)


def summary(value: torch.Tensor) -> list[float]:
    """Sum, norm, and a sum that depends on the order."""
    value = value.double()
    waves = torch.cos(torch.arange(value.numel(), dtype=torch.double))
    return [float(value.sum()), float(value.norm()), float((value.flatten() * waves).sum())]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE.parents[1])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_version_0_1_0_gives_the_same_embeddings(name: str, tmp_path: Path) -> None:
    check_embeddings(Model.load(HERE / "models" / name), name, EXPECTED, tmp_path, 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_saved_again_gives_the_same_embeddings(name: str, tmp_path: Path) -> None:
    Model.load(HERE / "models" / name).save(tmp_path / "again")
    check_embeddings(Model.load(tmp_path / "again"), name, EXPECTED, tmp_path, 1e-6)


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_of_version_0_1_0_trains_to_the_same_weights(name: str, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    recipe = load_recipe(str(HERE / "recipes" / f"{name}.yaml"))
    with quiet():
        train(recipe, load_dataset(data_of(name)), tmp_path / "run", cache=tmp_path / "cache")
    torch.set_num_threads(threads)
    model = Model.load(tmp_path / "run")
    check_embeddings(model, name, RUNS, tmp_path / "cache", TOLERANCE)
    wanted = {
        # Pretrained vectors stood beside a layer of their own.
        key.removeprefix(f"{name}/weights/").replace(".words.spelt.", ".words."): value
        for key, value in RUNS.items()
        if key.startswith(f"{name}/weights/")
    }
    state = model.network.state_dict()
    assert wanted.keys() <= state.keys()
    for key, value in wanted.items():
        np.testing.assert_allclose(
            summary(state[key]), value, atol=20 * TOLERANCE, rtol=TOLERANCE, err_msg=key
        )


def test_the_golden_runs_are_those_asked_for() -> None:
    assert {"nce", "vsepp", "liwe", "smalr", "translator"} <= set(RECIPES)
    assert os.path.getsize(HERE / "expected.npz") > 10_000
    assert {key.split("/")[0] for key in RUNS} >= set(RECIPES)
