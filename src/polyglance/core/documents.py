"""YAML documents of the package or of users, validated by a schema."""

import re
import reprlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from polyglance.core.registry import nearest
from polyglance.core.sections import Variant, field_of, kind_of, section_of, variants_of
from polyglance.errors import PolyglanceError
from polyglance.storage.files import has_file

LARGEST = 100_000
"""Most values in a document; recipes have hundreds."""
SUFFIXES = {".yaml", ".yml"}
T = TypeVar("T", bound=BaseModel)


class _Rules:
    """YAML without two traps: duplicate keys, and Norwegian (no) parsed as False."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                problem = f"the key '{key.value}' occurs twice"
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
# libyaml is ten times as fast, but deeply nested files crash it, so it parses only the package's
# own documents.
_PackageLoader = _with_rules(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def parse_yaml(text: str) -> Any:
    """Parse a YAML text; only true and false are booleans.

    >>> parse_yaml("languages: [en, no]")
    {'languages': ['en', 'no']}
    """
    return _bounded(yaml.load(text, _Loader))


def _bounded(value: Any) -> Any:
    """Return the value, unless its aliases expand to more than LARGEST values."""
    sizes: dict[int, int] = {}

    def size(part: Any) -> int:
        if not isinstance(part, dict | list):
            return 1
        if id(part) not in sizes:
            sizes[id(part)] = LARGEST + 1  # in case a part contains itself
            inner = [*part, *part.values()] if isinstance(part, dict) else part
            sizes[id(part)] = 1 + sum(map(size, inner))
        return sizes[id(part)]

    if size(value) > LARGEST:
        raise yaml.YAMLError(f"its aliases expand to more than {LARGEST:,} values")
    return value


def abbreviated(value: Any) -> str:
    """A value, shortened for an error message."""
    short = reprlib.Repr()
    short.maxlevel, short.maxstring, short.maxother = 2, 80, 80
    return short.repr(value)


@cache
def document_names(package: str) -> tuple[str, ...]:
    """Names of the YAML files in a sub-package."""
    files = (file.name for file in resources.files(package).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml")))


def is_file_name(name: str) -> bool:
    """Whether a document's name is a path to a user's file."""
    return Path(name).suffix in SUFFIXES


def copied(value: Any) -> Any:
    """A deep copy of a YAML value; ten times as fast as `deepcopy`."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def read_document(
    name: str, package: str, noun: str, listing: str = ""
) -> tuple[str, dict[str, Any]]:
    """(source for error messages, content) of a package's document or a user's YAML file.

    A package's document is parsed once, a user's file on every call.

    Args:
        name: of the document, or a path to a YAML file.
        package: the sub-package with the documents.
        noun: what a document is called.
        listing: the command that lists them, if any.
    """
    if is_file_name(name):
        path = Path(name)
        return str(path), _parse(_read(path, noun), str(path), noun)
    if name not in document_names(package):
        listed = f"'{listing}' lists them, and " if listing else ""
        raise PolyglanceError(
            f"unknown {noun} '{name}'{nearest(name, list(document_names(package)))}; "
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
        value = _bounded(yaml.load(text, loader))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise PolyglanceError(f"{source}{line}: not valid YAML ({problem or error})") from None
    except RecursionError:
        raise PolyglanceError(f"{source}: not valid YAML (nested too deep)") from None
    except ValueError as error:  # numbers and dates that Python cannot represent
        raise PolyglanceError(f"{source}: not valid YAML ({error})") from None
    if not isinstance(value, dict):
        raise PolyglanceError(f"{source}: expected the fields of a {noun}")
    return value


def validate(schema: type[T], value: Any, source: str) -> T:
    """Validate a value; the error names the first invalid field and the nearest valid one.

    Args:
        schema: the model to validate against.
        value: as read from YAML or JSON.
        source: where the value comes from, for the error.
    """
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
        got = abbreviated(detail["input"])
        return f"'{field or noun}' must be a section with fields (got {got}){hint}"
    if kind == "value_error":
        return f"'{field}': {message}" if field else message
    return f"field '{field}': {message.lower()} (got {abbreviated(detail['input'])})"


def _unknown_field(schema: type[BaseModel], location: Sequence[str]) -> str:
    """Message for a field that its section, or this kind of section, does not have."""
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
    """The field names of a location, its type, and the variants of that type, by kind.

    In a location, the kind follows the field that has variants; it is not a field itself.
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
    """The annotation of a field, or of the values of a list or mapping."""
    arguments = get_args(kind)
    return arguments[-1] if arguments else field_of(kind, part)
