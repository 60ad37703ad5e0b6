"""The fields of recipes, with their types, defaults and meanings."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from polyglance.core.sections import section_of, variants_of
from polyglance.recipes.schema import Recipe


def field_rows() -> list[list[str]]:
    """Path, type, default and meaning of every field of the schema.

    >>> next(row for row in field_rows() if row[0] == "training.lr")[1:3]
    ['number > 0', '0.0002']
    """
    return list(_rows(Recipe, ""))


def _rows(model: type[BaseModel], prefix: str) -> Iterator[list[str]]:
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        variants = variants_of(kind)
        if variants:
            meaning = field.description or ""
            yield [f"{prefix}{name}.kind", " or ".join(variants), field.default.kind, meaning]
            for tag, variant in variants.items():
                yield from _rows(variant, f"{prefix}{name}[{tag}].")
            continue
        if section := section_of(kind):
            yield from _rows(section, f"{prefix}{name}.")
            continue
        if name == "kind":
            continue
        default = "required" if field.default is PydanticUndefined else _text(field.default)
        limits = ", ".join(filter(None, map(_limit, field.metadata)))
        shown = f"{_type(kind)} {limits}".strip()
        yield [f"{prefix}{name}", shown, default, field.description or ""]


def _type(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _type(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_type(part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if get_origin(kind) in (list, tuple, dict):
        noun = {list: "list of", tuple: "list of", dict: "mapping of"}[get_origin(kind)]
        return f"{noun} {' to '.join(map(_type, get_args(kind)))}"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return "null" if kind is NoneType else names.get(kind, getattr(kind, "__name__", str(kind)))


def _limit(rule: Any) -> str:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    return ", ".join(f"{s} {getattr(rule, n)}" for n, s in signs.items() if hasattr(rule, n))


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)
