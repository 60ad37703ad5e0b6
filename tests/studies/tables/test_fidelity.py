"""docs/fidelity.md: the tests that it names are there, and recipes have the papers' settings."""

import ast
import re
from pathlib import Path

import pytest

from polyglance.recipes import load_recipe

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "fidelity.md"


def named_tests() -> list[tuple[str, str]]:
    """(file, test) of every reference; one that begins with :: is in the file before it."""
    found, file = [], ""
    for path, name in re.findall(r"`(tests/\S+?\.py)?::(\w+)`", PAGE.read_text(encoding="utf-8")):
        file = path or file
        found.append((file, name))
    return found


def test_every_test_that_the_page_names_is_there() -> None:
    known: dict[str, set[str]] = {}
    missing = []
    for file, name in named_tests():
        if file not in known:
            path = ROOT / file
            tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([])
            known[file] = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        if name not in known[file]:
            missing.append(f"{file}::{name}")
    assert missing == []
    assert len(named_tests()) > 70


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("mule", {"training.clip": None, "loss.distance": "euclidean", "sampling.cross_weight": 1}),
        (
            "smalr",
            {"training.clip": None, "loss.distance": "cosine", "sampling.cross_weight": 0.05},
        ),
        ("smalr-hem", {"text.embedder.own_dim": 50, "text.embedder.frequent": 5000}),
        ("kadar-bilingual-c2c", {"sampling.c2c": 0.5, "training.schedule.kind": "constant"}),
        ("kadar-monolingual", {"training.schedule.every": 15, "loss.margin": 0.2}),
        ("vse-infinity", {"training.weight_decay": 1e-4, "training.epochs": 25}),
        ("liwe", {"loss.epsilon": 0.991, "training.lr": 6e-4}),
        ("translator", {"training.batch_size": 96, "training.epochs": 20}),
    ],
)
def test_recipes_have_the_papers_settings(recipe: str, settings: dict[str, object]) -> None:
    loaded = load_recipe(recipe)
    for path, wanted in settings.items():
        value: object = loaded
        for part in path.split("."):
            value = getattr(value, part)
        assert value == wanted, path
