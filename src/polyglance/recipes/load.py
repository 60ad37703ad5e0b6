"""Reading recipes: by name or file, with overrides, every mistake named."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import yaml

from polyglance.documents import (
    copied,
    document_names,
    is_file_name,
    parse_yaml,
    read_document,
    validate,
)
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import Recipe

PACKAGE = "polyglance.recipes"


def recipe_names() -> list[str]:
    """Names of the recipes that come with the package."""
    return document_names(PACKAGE)


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe called `name` (or a YAML file) with `path=value` overrides applied.

    >>> load_recipe("vsepp", ["training.lr=1e-3"]).training.lr
    0.001
    """
    return (_load if is_file_name(name) else _packaged)(name, tuple(overrides))


def _load(name: str, overrides: tuple[str, ...]) -> Recipe:
    source, value = _read(name)
    for override in overrides:
        apply_override(value, override)
    return check_recipe(value, source)


_packaged = lru_cache(maxsize=1024)(_load)
"""For the package's own recipes, which never change; a study asks for one many times."""


def _read(name: str, above: tuple[str, ...] = ()) -> tuple[str, dict[str, Any]]:
    """A recipe's source and fields, those of its `base` where it has none of its own."""
    source, value = read_document(name, PACKAGE, "recipe", "polyglance recipes")
    if "base" not in value:
        return source, value
    base = value.pop("base")
    if not isinstance(base, str):
        raise PolyglanceError(f"{source}: base: expected a recipe's name or a YAML file")
    if base in (*above, name):
        raise PolyglanceError(f"{source}: base '{base}' leads back to this recipe")
    return source, _merged(_read(base, (*above, name))[1], value)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both mappings; in sections, too, what is `above` wins.

    >>> _merged({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}, "b": 4})
    {'a': {'x': 1, 'y': 3}, 'b': 4}
    """
    both = dict(below)
    for key, value in above.items():
        old = below.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merged(old, value)
        both[key] = value
    return both


def check_recipe(value: Any, source: str) -> Recipe:
    """Validate a recipe; the first mistake is told with its field and the nearest valid one."""
    return validate(Recipe, value, source)


def apply_override(recipe: dict[str, Any], override: str) -> None:
    """Put one `path=value` into a mapping, making the sections on its path."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise PolyglanceError(f"--set {override}: expected path=value, such as training.lr=1e-3")
    *sections, last = path.split(".")
    place = recipe
    for section in sections:
        if place.get(section) is None:
            place[section] = {}
        place = place[section]
        if not isinstance(place, dict):
            raise PolyglanceError(f"--set {override}: '{section}' is a value, not a section")
    try:
        place[last] = _value(text)
    except (yaml.YAMLError, RecursionError):
        raise PolyglanceError(f"--set {override}: the value is not valid YAML") from None


def _value(text: str) -> Any:
    """A YAML value; 1e-3, which YAML 1.1 reads as a string, is a number."""
    value = copied(_parsed(text))
    if isinstance(value, str) and any(map(str.isdigit, value)):
        try:
            return float(value)
        except ValueError:
            return value
    return value


_parsed = lru_cache(maxsize=4096)(parse_yaml)
