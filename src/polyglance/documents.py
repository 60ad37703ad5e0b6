"""YAML documents that come with the package or from users, checked against a schema."""

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.sections import Variant, field_of, kind_of, section_of, variants_of

SUFFIXES = {".yaml", ".yml"}
T = TypeVar("T", bound=BaseModel)


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


def document_names(package: str) -> list[str]:
    """Names of the YAML files in a sub-package."""
    files = (file.name for file in resources.files(package).iterdir())
    return sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml"))


def read_document(
    name: str, package: str, noun: str, listing: str = ""
) -> tuple[str, dict[str, Any]]:
    """(source as errors name it, content) of a package's document or a user's YAML file.

    `noun` is what it is called, `listing` the command that lists them, if there is one.
    """
    source, text = _read(name, package, noun, listing)
    try:
        value = parse_yaml(text)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise PolyglanceError(f"{source}{line}: not valid YAML ({problem or error})") from None
    except RecursionError:
        raise PolyglanceError(f"{source}: not valid YAML (nested too deep)") from None
    if not isinstance(value, dict):
        raise PolyglanceError(f"{source}: expected the fields of a {noun}")
    return source, value


def validate(schema: type[T], value: Any, source: str) -> T:
    """Check a value; the first mistake is told with its field and the nearest valid one."""
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise PolyglanceError(f"{source}: {_explain(schema, error)}") from None


def _read(name: str, package: str, noun: str, listing: str) -> tuple[str, str]:
    path = Path(name)
    if path.suffix in SUFFIXES:
        if not path.is_file():
            raise PolyglanceError(f"{path}: no such {noun} file")
        try:
            return str(path), path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise PolyglanceError(f"{path}: not UTF-8; save the {noun} as UTF-8") from None
    names = document_names(package)
    if name not in names:
        listed = f"'{listing}' lists them, and " if listing else ""
        raise PolyglanceError(
            f"unknown {noun} '{name}'{nearest(name, names)}; "
            f"{listed}a path to a .yaml file works too"
        )
    file = resources.files(package) / f"{name}.yaml"
    return f"{noun} {name}", file.read_text(encoding="utf-8")


def _explain(schema: type[BaseModel], error: ValidationError) -> str:
    detail = error.errors()[0]
    location, kind = [str(part) for part in detail["loc"]], detail["type"]
    names, _, variants = _locate(schema, location)
    field, message = ".".join(names), detail["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        return _unknown_field(schema, location)
    if kind == "union_tag_invalid":
        tag = detail["ctx"]["tag"]
        return f"unknown kind '{tag}' of {field}{nearest(tag, list(variants))}"
    if kind == "missing":
        return f"field '{field}' is missing"
    if kind in ("model_type", "union_tag_not_found"):
        noun = schema.__name__.lower()
        hint = f"; is it the '{field}.kind'?" if detail["input"] in list(variants) else ""
        return f"'{field or noun}' must be a section with fields (got {detail['input']!r}){hint}"
    if kind == "value_error":
        return f"'{field}': {message}" if field else message
    return f"field '{field}': {message.lower()} (got {detail['input']!r})"


def _unknown_field(schema: type[BaseModel], location: Sequence[str]) -> str:
    """A field that its section does not have, or only where it is of another kind."""
    names, found, variants = _locate(schema, location[:-1])
    name = location[-1]
    having = [kind for kind, variant in variants.items() if name in variant.model_fields]
    if having:
        *most, last = having
        there = f"{', '.join(most)} and {last} have" if most else f"{last} has"
        return f"{'.'.join(names)} of kind {kind_of(found)} has no field '{name}' ({there})"
    fields = list(getattr(found, "model_fields", {}))
    return f"unknown field '{'.'.join([*names, name])}'{nearest(name, fields)}"


def _locate(
    schema: type[BaseModel], location: Sequence[str]
) -> tuple[list[str], Any, dict[str, type[Variant]]]:
    """The fields of a location, what is there, and the variants of which it is one, by kind.

    Kinds are parts of a location, behind the field that has variants, and no fields.
    """
    names: list[str] = []
    parts, found, variants = list(location), cast(Any, schema), dict[str, type[Variant]]()
    while parts:
        names.append(parts.pop(0))
        annotation = _inside(found, names[-1])
        variants = variants_of(annotation)
        tag = parts.pop(0) if parts and parts[0] in variants else None
        found = variants[tag] if tag is not None else section_of(annotation) or annotation
        if get_origin(annotation) in (list, dict):
            found = annotation
    return names, found, variants


def _inside(kind: Any, part: str) -> Any:
    """The annotation of a field, or that of a list's or mapping's values."""
    arguments = get_args(kind)
    return arguments[-1] if arguments else field_of(kind, part)
