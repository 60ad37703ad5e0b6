"""Recipes in which the fields of an assignment lay beside it."""

from pathlib import Path
from typing import Any

import pytest

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, check_recipe, load_recipe
from polyglance.recipes.schema import AlignedAssignment, LatentRare, RandomAssignment
from polyglance.studies.keys.fingerprint import run_key

FLAT = {"tokens": 40000, "explore": 0.2, "candidates": 20, "epochs": 5, "updates": None}
FLAT |= {"lr": 0.001, "soft": 0.5, "warmup": 0.5, "queries": "images"}


def saved(assignment: str) -> dict[str, Any]:
    """What a model of that time has in its model.json: every field, whether it did anything."""
    value = load_recipe("smalr").model_dump(mode="json")
    value["text"]["embedder"]["rare"] = {"kind": "latent", "assignment": assignment, **FLAT}
    return value


def rare(recipe: Recipe) -> LatentRare:
    found = recipe.text.embedder.rare  # type: ignore[attr-defined]
    assert isinstance(found, LatentRare)
    return found


def test_a_saved_recipe_is_todays() -> None:
    assert check_recipe(saved("aligned"), "model.json") == load_recipe("smalr")
    random = rare(check_recipe(saved("random"), "model.json"))
    assert random == LatentRare(tokens=40000, assignment=RandomAssignment())
    paper = {"text.embedder.rare.assignment.kind": "paper"}
    assert check_recipe(saved("paper"), "model.json") == load_recipe("smalr", paper)


def test_a_file_of_ones_own_keeps_its_meaning(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nbase: smalr\ntext: {embedder: {rare: {explore: 0.4, tokens: 7}}}\n",
        encoding="utf-8",
    )
    found = rare(load_recipe(file))
    assert found.assignment == AlignedAssignment(explore=0.4, soft=0.5, warmup=0.5)
    assert found.tokens == 7


@pytest.mark.parametrize(
    ("path", "today", "value"),
    [
        ("text.embedder.rare.explore", "text.embedder.rare.assignment.explore", 0),
        ("text.embedder.rare.assignment", "text.embedder.rare.assignment.kind", "random"),
    ],
)
def test_errors_for_former_paths_name_the_new_path(path: str, today: str, value: object) -> None:
    with pytest.raises(PolyglanceError, match=f"'{path}' is now '{today}'"):
        load_recipe("smalr", {path: value})


def test_what_does_nothing_for_a_kind_is_an_error() -> None:
    changes = {"kind": "random", "soft": 0.5}
    with pytest.raises(PolyglanceError, match="of kind random has no field 'soft'"):
        load_recipe("smalr", {"text.embedder.rare.assignment": changes})
    with pytest.raises(PolyglanceError, match="of kind paper has no field 'queries'"):
        load_recipe(
            "smalr", {"text.embedder.rare.assignment": {"kind": "paper", "queries": "images"}}
        )


def test_a_string_that_is_no_kind_is_named() -> None:
    value = saved("aligned")
    value["text"]["embedder"]["rare"]["assignment"] = "alined"
    with pytest.raises(PolyglanceError, match="alined"):
        check_recipe(value, "model.json")


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, "6a347a5d412353caab0ea1e7"),
        ({"kind": "paper", "soft": 0, "warmup": 0}, "f328daaba7bbf1597ae8c20f"),
        ({"explore": 0.5}, "89baa33b27c6e2df066f63d0"),
    ],
)
def test_runs_keep_their_keys(changes: dict[str, Any], key: str) -> None:
    """As they were when the fields lay side by side."""
    recipe = load_recipe("smalr-la", {"text.embedder.rare.assignment": changes})
    assert run_key(recipe, "data") == key
