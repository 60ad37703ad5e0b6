"""Loads recipes by name or file, with overrides."""

import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from polyglance.core.documents import document_names, is_file_name, read_document, validate
from polyglance.errors import PolyglanceError
from polyglance.recipes.flat_assignment import moved_assignment, with_assignment
from polyglance.recipes.merge import Mapped, merge, nested
from polyglance.recipes.schema import Recipe
from polyglance.recipes.schema.effects import idle_rule, idle_settings
from polyglance.recipes.since_0_1_0 import BEFORE, with_old_defaults
from polyglance.recipes.v0_1_0 import MOVES, is_old, moved_fields, prune, upgrade

PACKAGE = "polyglance.recipes"


def recipe_names() -> list[str]:
    """Names of the packaged recipes.

    >>> {"nce", "vsepp"} <= set(recipe_names())
    True
    """
    return list(document_names(PACKAGE))


Changes = Mapping[str, Any]


def load_recipe(
    name: str | Path,
    overrides: Changes | Iterable[Changes] = (),
    *,
    shared: bool = False,
    before: bool = False,
) -> Recipe:
    """Load the recipe `name`, with overrides.

    Args:
        name: a recipe of the package, or a YAML file.
        overrides: values by field, nested or by dotted path, or several such mappings, of which
            later ones win. A changed `kind` keeps the section's values that the new kind also
            has.
        shared: ignore overrides for fields of another kind than the recipe's, and accept those
            that have no effect in it; otherwise, both are errors.
        before: read a packaged recipe as it was in version 0.1.0.

    >>> load_recipe("vsepp", {"training.lr": 1e-3, "text.encoder": {"kind": "bigru"}}).training.lr
    0.001
    """
    every = _mappings(overrides)
    if is_file_name(str(name)):
        return _load(str(name), every, shared, before)
    return _packaged(str(name), json.dumps(every), shared, before)


def change_recipe(recipe: Recipe, overrides: Changes | Iterable[Changes], source: str) -> Recipe:
    """A recipe with overrides, validated.

    Args:
        recipe: to change.
        overrides: as for `load_recipe`.
        source: of the recipe, for errors.
    """
    every = _mappings(overrides)
    value = _merged(recipe.model_dump(), every, source)
    return _with_effect(validate(Recipe, value, source), map(nested, every), source)


def _mappings(overrides: Changes | Iterable[Changes]) -> list[Changes]:
    every = [overrides] if isinstance(overrides, Mapping) else list(overrides)
    if not all(isinstance(one, Mapping) for one in every):
        raise PolyglanceError(
            "overrides must be mappings, such as {'training.lr': 1e-3}; parse_overrides takes texts"
        )
    return every


def _merged(value: Mapped, overrides: Iterable[Changes], source: str) -> Mapped:
    for changes in map(nested, overrides):
        _check_paths(changes, source)
        value = merge(value, changes)
    return value


@lru_cache(maxsize=4096)
def _packaged(name: str, overrides: str, shared: bool, before: bool) -> Recipe:
    """A packaged recipe; cached, because studies load the same ones many times."""
    return _load(name, json.loads(overrides), shared, before)


def _load(name: str, overrides: Iterable[Changes], shared: bool, before: bool) -> Recipe:
    every = list(overrides)
    read = _read if is_file_name(name) else _read_packaged
    source, below, own, old = read(name, before=before)
    value = _merged(below, every, source)
    value = with_old_defaults(value) if before else value
    if old or shared:
        return _check_pruned(value, source)
    recipe = validate(Recipe, value, source)
    if is_file_name(name):
        _with_effect(_alone(below, recipe) if every else recipe, [own], source)
    return _with_effect(recipe, map(nested, every), source)


def _alone(value: Mapped, changed: Recipe) -> Recipe:
    """A file's recipe without overrides, whose base it is; with them if it is not complete."""
    try:
        return Recipe.model_validate(value)
    except ValidationError:
        return changed


def _with_effect(recipe: Recipe, changes: Iterable[Changes], source: str) -> Recipe:
    """The recipe; an error if one of the changes does nothing in it."""
    for one in changes:
        for problem in idle_settings(recipe, one):
            raise PolyglanceError(f"{source}: {problem}")
    return recipe


def check_recipe(value: Any, source: str) -> Recipe:
    """Validate a recipe, of this or a former version; `source` is the file, for errors.

    The error names the first invalid field and the nearest valid one.
    """
    if is_old(value):
        return _check_pruned(with_old_defaults(upgrade(value)), source)
    value = with_assignment(value) if isinstance(value, dict) else value
    return validate(Recipe, value, source)


def _check_pruned(value: Mapped, source: str) -> Recipe:
    """Validate a recipe after removing fields of other kinds, and `compat` without effect."""
    value = prune(value)
    compat = value.pop("compat", {})
    if compat and isinstance(compat, dict):
        recipe = validate(Recipe, value, source)
        compat = {
            name: switch
            for name, switch in compat.items()
            if f"compat.{name}" in KEPT or idle_rule(recipe, f"compat.{name}") is None
        }
    return validate(Recipe, {**value, "compat": compat}, source)


KEPT = {"compat.halves"}
"""Kept even without effect: in former versions it was, and the keys of their runs contain it."""


class _Document(NamedTuple):
    """A recipe's document.

    Args:
        source: for errors.
        value: its fields, merged with those of its `base`.
        own: its fields only.
        old: whether it or its base is in the form of version 0.1.0.
    """

    source: str
    value: Mapped
    own: Mapped
    old: bool


def _read(name: str, above: tuple[str, ...] = (), before: bool = False) -> _Document:
    """Read a recipe.

    Args:
        name: a recipe of the package, or a file.
        above: recipes that are based on it.
        before: read a packaged recipe as it was in version 0.1.0.
    """
    source, value = read_document(name, PACKAGE, "recipe", "polyglance recipes")
    base = value.pop("base", None)
    old = is_file_name(name) and is_old(value)
    value = with_old_defaults(upgrade(value)) if old else with_assignment(value)
    before = before or old
    if before and not is_file_name(name):
        value = merge(value, BEFORE.get(name, {}))
    if base is None:
        return _Document(source, value, value, old)
    if not isinstance(base, str):
        raise PolyglanceError(f"{source}: base: expected a recipe's name or a YAML file")
    if base in (*above, name):
        raise PolyglanceError(f"{source}: base '{base}' leads back to this recipe")
    below = _read(base, (*above, name), before)
    return _Document(source, merge(below.value, value), value, old or below.old)


_read_packaged = cache(_read)
"""Cached for packaged recipes; the values are never modified, as `merge` and `prune` copy."""


def _check_paths(changes: Mapped, source: str) -> None:
    """Raise an error for a path of a former version, with the new one."""
    for path, where in moved_assignment(changes):
        raise PolyglanceError(f"{source}: '{path}' is now '{where}'")
    for path in moved_fields(changes):
        where = "' or '".join(MOVES[path] or ("joint.similarity.lse",))
        raise PolyglanceError(f"{source}: '{path}' is now '{where}'")
