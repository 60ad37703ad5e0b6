"""Defaults and meanings of recipes that change take the keys of their runs with them."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined, to_jsonable_python

import polyglance.recipes.schema as schema
from polyglance.core.sections import Section
from polyglance.recipes import Recipe, load_recipe
from polyglance.studies.keys.fingerprint import run_key, unrevised_key
from polyglance.studies.keys.revisions import FORMER_DEFAULTS, revisions

DEFAULTS = Path(__file__).with_name("defaults.json")
"""Of all fields, as they were when keys began to leave defaults out."""


def defaults() -> dict[str, Any]:
    """Section and field → default, of fields that are no sections themselves."""
    found = {}
    for name, kind in inspect.getmembers(schema, inspect.isclass):
        for field, about in kind.model_fields.items() if issubclass(kind, Section) else ():
            value = about.get_default(call_default_factory=True)
            if value is not PydanticUndefined and not isinstance(value, Section):
                found[f"{name}.{field}"] = to_jsonable_python(value)
    return found


def test_a_default_that_changes_is_remembered() -> None:
    """Else a run of the old default would be taken for one of the new.

    Add the field with its old default to FORMER_DEFAULTS.
    """
    today, first = defaults(), json.loads(DEFAULTS.read_text(encoding="utf-8"))
    changed = {name: was for name, was in first.items() if today.get(name, was) != was}
    remembered = {path.rpartition(".")[2]: was for path, was in FORMER_DEFAULTS.items()}
    lost = {n: was for n, was in changed.items() if remembered.get(n.partition(".")[2]) != was}
    assert lost == {}


def test_the_list_of_first_defaults_is_whole() -> None:
    assert len(json.loads(DEFAULTS.read_text(encoding="utf-8"))) > 150


def test_a_former_default_is_left_out_and_another_value_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = load_recipe("vsepp", {"training.patience": 10, "training.buckets": 50})
    before = run_key(recipe, "data")
    changed = {**FORMER_DEFAULTS, "training.patience": 99}  # as if 99 had been the default once
    monkeypatch.setattr("polyglance.studies.keys.fingerprint.FORMER_DEFAULTS", changed)
    once = load_recipe("vsepp", {"training.patience": 99, "training.buckets": 50})
    assert run_key(once, "data") == before
    assert run_key(recipe, "data") != before


@pytest.mark.parametrize(
    ("recipe", "changes", "concerned"),
    [
        ("vsepp", {}, set()),
        ("mule", {}, {"tuples"}),
        ("smalr", {}, {"tuples", "latent tokens"}),
        ("dictionary", {}, {"tuples", "dictionary"}),
        ("kadar-bilingual", {"data.kinds": ["independent"]}, set()),
        ("kadar-bilingual", {"data.kinds": ["translation"]}, {"validation"}),
    ],
)
def test_changes_of_meaning_concern_some_recipes(
    recipe: str, changes: dict[str, Any], concerned: set[str]
) -> None:
    loaded: Recipe = load_recipe(recipe, changes)
    assert set(revisions(loaded)) == concerned
    assert (run_key(loaded, "data") != unrevised_key(loaded, "data")) == bool(concerned)
