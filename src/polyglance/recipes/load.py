"""Reading recipes: by name or file, with overrides, every mistake named."""

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import Recipe
from polyglance.registry import nearest


def recipe_names() -> list[str]:
    """Names of the recipes that come with the package."""
    folder = resources.files("polyglance.recipes")
    return sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe called `name` (or a YAML file) with `path=value` overrides applied.

    >>> load_recipe("vsepp", ["training.lr=1e-3"]).training.lr
    0.001
    """
    source, text = _read(name)
    try:
        value = parse_yaml(text)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise PolyglanceError(f"{source}{line}: not valid YAML ({problem or error})") from None
    except RecursionError:
        raise PolyglanceError(f"{source}: not valid YAML (nested too deep)") from None
    if not isinstance(value, dict):
        raise PolyglanceError(f"{source}: expected a recipe with name, paper and summary")
    for override in overrides:
        _override(value, override)
    return check_recipe(value, source)


class _Loader(yaml.SafeLoader):
    """YAML without two traps: keys that are there twice, and Norwegian (no) as False."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                problem = f"the key '{key.value}' is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def parse_yaml(text: str) -> Any:
    """The value of a YAML text; its booleans are true and false alone.

    >>> parse_yaml("languages: [en, no]")
    {'languages': ['en', 'no']}
    """
    return yaml.load(text, _Loader)


def check_recipe(value: Any, source: str) -> Recipe:
    """Validate a recipe; the first mistake is told with its field and the nearest valid one."""
    try:
        return Recipe.model_validate(value)
    except ValidationError as error:
        raise PolyglanceError(f"{source}: {_explain(error)}") from None


def _read(name: str) -> tuple[str, str]:
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        if not path.is_file():
            raise PolyglanceError(f"{path}: no such recipe file")
        try:
            return str(path), path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise PolyglanceError(f"{path}: not UTF-8; save the recipe as UTF-8") from None
    if name not in recipe_names():
        raise PolyglanceError(
            f"unknown recipe '{name}'{nearest(name, recipe_names())}; "
            "'polyglance recipes' lists them, and a path to a .yaml file works too"
        )
    file = resources.files("polyglance.recipes") / f"{name}.yaml"
    return f"recipe {name}", file.read_text(encoding="utf-8")


def _override(recipe: dict[str, Any], override: str) -> None:
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
    value = parse_yaml(text)
    if isinstance(value, str) and any(map(str.isdigit, value)):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _explain(error: ValidationError) -> str:
    detail = error.errors()[0]
    location = [str(part) for part in detail["loc"]]
    field = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return f"unknown field '{field}'{nearest(location[-1], _fields_at(location[:-1]))}"
    if detail["type"] == "missing":
        return f"field '{field}' is missing"
    if detail["type"] == "model_type":
        return f"'{field or 'recipe'}' must be a section with fields (got {detail['input']!r})"
    return f"field '{field}': {detail['msg'].lower()} (got {detail['input']!r})"


def _fields_at(location: Sequence[str]) -> list[str]:
    model: type[BaseModel] = Recipe
    for part in location:
        annotation = model.model_fields[part].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
