"""Finds settings that do nothing in a recipe, by the table in `rules`."""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from polyglance.core.sections import Section, Variant
from polyglance.recipes.schema.recipe import Recipe
from polyglance.recipes.schema.rules import RULES, Rule


def idle_rule(recipe: Recipe, path: str) -> Rule | None:
    """The rule by which a field of the recipe does nothing; None if it has an effect.

    Args:
        recipe: that has the field.
        path: of the field, with the kinds of sections: text.embedder[universal].lexicon.
    """
    return next((rule for rule in RULES if path in rule.fields and not rule.works(recipe)), None)


def idle_settings(recipe: Recipe, changes: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with those of the changes that do nothing in the recipe.

    Inherited fields may do nothing, and so may a field with its default value, which says no more
    than leaving it out.

    Args:
        recipe: with the changes merged into it.
        changes: nested, as in a recipe file.
    """
    for path, rule in _idle(recipe, changes):
        yield f"{path} has no effect in this recipe: {rule.why}; {rule.instead}, or remove it"


def fields_with_effect(recipe: Recipe) -> dict[str, Any]:
    """A recipe's fields, nested, without settings that do nothing in it: a valid recipe file."""
    values = recipe.model_dump(mode="json")
    # Without one of them, another may do nothing.
    while idle := [path for path, _ in _idle(recipe, values)]:
        for path in idle:
            *sections, name = path.split(".")
            del reduce(getitem, sections, values)[name]
        recipe = Recipe.model_validate(values)
    return values


def _idle(recipe: Recipe, changes: Mapping[str, Any]) -> Iterator[tuple[str, Rule]]:
    """Paths without kinds of those changes that do nothing, each with the rule."""
    for path in _changed(recipe, changes):
        if (rule := idle_rule(recipe, path)) is not None:
            yield re.sub(r"\[[^]]*\]", "", path), rule


def _changed(section: Section, changes: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Paths of the section's fields that are among the changes and differ from their defaults."""
    fields = type(section).model_fields
    for name, change in changes.items():
        if name not in fields:
            continue  # of a kind that a later change has replaced
        value = getattr(section, name)
        if isinstance(value, Section) and isinstance(change, Mapping):
            kind = f"[{value.kind}]" if isinstance(value, Variant) else ""
            yield from _changed(value, change, f"{prefix}{name}{kind}.")
        elif value != fields[name].get_default(call_default_factory=True):
            yield f"{prefix}{name}"
