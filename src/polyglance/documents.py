"""YAML documents that come with the package or from users, checked against a schema."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.files import has_file
from polyglance.registry import nearest

SUFFIXES = {".yaml", ".yml"}
T = TypeVar("T", bound=BaseModel)


class _Rules:
    """YAML without two traps: keys that are there twice, and Norwegian (no) as False."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                problem = f"the key '{key.value}' is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        value: dict[Any, Any] = super().construct_mapping(node, deep)  # type: ignore[misc]
        return value


def _with_rules(base: Any) -> Any:
    loader: Any = type("_Loader", (_Rules, base), {})
    loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:bool"]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    booleans = re.compile("(true|True|TRUE|false|False|FALSE)$")
    loader.add_implicit_resolver("tag:yaml.org,2002:bool", booleans, list("tTfF"))
    return loader


_Loader = _with_rules(yaml.SafeLoader)
# libyaml reads ten times as fast, but a file that is nested deep crashes it: it reads the
# package's own documents alone.
_PackageLoader = _with_rules(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def parse_yaml(text: str) -> Any:
    """The value of a YAML text; its booleans are true and false alone.

    >>> parse_yaml("languages: [en, no]")
    {'languages': ['en', 'no']}
    """
    return yaml.load(text, _Loader)


def document_names(package: str) -> list[str]:
    """Names of the YAML files in a sub-package."""
    return list(_names(package))


@cache
def _names(package: str) -> tuple[str, ...]:
    files = (file.name for file in resources.files(package).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml")))


def is_file_name(name: str) -> bool:
    """Whether a document's name is a path to a user's file, which may change at any time."""
    return Path(name).suffix in SUFFIXES


def copied(value: Any) -> Any:
    """A YAML value whose mappings and lists are its own; `deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def read_document(
    name: str, package: str, noun: str, listing: str = ""
) -> tuple[str, dict[str, Any]]:
    """(source as errors name it, content) of a package's document or a user's YAML file.

    A package's document is parsed once, a user's file whenever it is asked for.

    Args:
        name: of the document, or a path to a YAML file.
        package: the sub-package whose documents are meant.
        noun: what a document is called.
        listing: the command that lists them, if there is one.
    """
    if is_file_name(name):
        path = Path(name)
        return str(path), _parse(_read(path, noun), str(path), noun)
    if name not in _names(package):
        listed = f"'{listing}' lists them, and " if listing else ""
        raise PolyglanceError(
            f"unknown {noun} '{name}'{nearest(name, document_names(package))}; "
            f"{listed}a path to a .yaml file works too"
        )
    return f"{noun} {name}", copied(_packaged(name, package, noun))


@cache
def _packaged(name: str, package: str, noun: str) -> dict[str, Any]:
    file = resources.files(package) / f"{name}.yaml"
    text = file.read_text(encoding="utf-8")
    return _parse(text, f"{noun} {name}", noun, _PackageLoader)


def _parse(text: str, source: str, noun: str, loader: Any = _Loader) -> dict[str, Any]:
    try:
        value = yaml.load(text, loader)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise PolyglanceError(f"{source}{line}: not valid YAML ({problem or error})") from None
    except RecursionError:
        raise PolyglanceError(f"{source}: not valid YAML (nested too deep)") from None
    if not isinstance(value, dict):
        raise PolyglanceError(f"{source}: expected the fields of a {noun}")
    return value


def validate(schema: type[T], value: Any, source: str) -> T:
    """Check a value; the first mistake is told with its field and the nearest valid one."""
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise PolyglanceError(f"{source}: {_explain(schema, error)}") from None


def _read(path: Path, noun: str) -> str:
    if not has_file(path):
        raise PolyglanceError(f"{path}: no such {noun} file")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise PolyglanceError(f"{path}: not UTF-8; save the {noun} as UTF-8") from None


def _explain(schema: type[BaseModel], error: ValidationError) -> str:
    detail = error.errors()[0]
    location = [str(part) for part in detail["loc"]]
    field, kind = ".".join(location), detail["type"]
    message = detail["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        return f"unknown field '{field}'{nearest(location[-1], _fields_at(schema, location[:-1]))}"
    if kind == "missing":
        return f"field '{field}' is missing"
    if kind == "model_type":
        noun = schema.__name__.lower()
        return f"'{field or noun}' must be a section with fields (got {detail['input']!r})"
    if kind == "value_error":
        return f"'{field}': {message}" if field else message
    return f"field '{field}': {message.lower()} (got {detail['input']!r})"


def _fields_at(schema: type[BaseModel], location: Sequence[str]) -> list[str]:
    """The fields of the part of a document at `location`, through lists and mappings."""
    kind: Any = schema
    for part in location:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[part].annotation
        else:
            kind = get_args(kind)[-1]
    return list(getattr(kind, "model_fields", {}))
