"""Merges recipes with overrides: mappings, or texts such as `training.lr=1e-3`."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from polyglance.core.documents import parse_yaml
from polyglance.core.sections import field_of, fields_of, section_of, variant_of, variants_of
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import Recipe

Mapped = dict[str, Any]


def merge(below: Mapping[str, Any], above: Mapping[str, Any], schema: Any = Recipe) -> Mapped:
    """Merge two mappings, section by section.

    A mapping that is a value, such as training.multipliers, is replaced as a whole.

    Args:
        below: the base fields.
        above: the fields that take precedence; if they change a section's kind, fields of `below`
            that the new kind lacks are dropped.
        schema: the model of both.

    >>> merge({"image": {"head": {"kind": "mlp", "hidden": 8}, "unit": True}},
    ...       {"image": {"head": {"kind": "linear"}}})
    {'image': {'head': {'kind': 'linear'}, 'unit': True}}
    """
    both = dict(below)
    for key, value in above.items():
        old, kind = below.get(key), field_of(schema, key)
        if isinstance(old, dict) and isinstance(value, dict) and not _is_value(kind):
            value = merge(old, value, variant_of(kind, {**old, **value}))
            known = _fields_of_kind(kind, value)
            if known is not None:
                known |= above[key].keys()
                value = {name: own for name, own in value.items() if name in known}
        both[key] = value
    return both


def nested(changes: Mapping[str, Any]) -> Mapped:
    """Convert a mapping with dotted keys, such as `{"training.lr": 1e-3}`, to nested sections.

    >>> nested({"training.lr": 0.1, "text": {"encoder.kind": "gru"}})
    {'training': {'lr': 0.1}, 'text': {'encoder': {'kind': 'gru'}}}
    """
    result: Mapped = {}
    for path, value in changes.items():
        *sections, last = str(path).split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise PolyglanceError(f"{path}: '{section}' is a value, not a section")
        if isinstance(value, Mapping) and last != "multipliers":
            own = nested(value)
            value = _joined(place[last], own) if isinstance(place.get(last), dict) else own
        place[last] = value
    return result


def parse_overrides(texts: Iterable[str]) -> Mapped:
    """Overrides as a mapping, from `path=value` texts, as in `--set`.

    >>> parse_overrides(["training.lr=1e-3", "data.languages=[en, no]"])
    {'training': {'lr': 0.001}, 'data': {'languages': ['en', 'no']}}
    """
    result: Mapped = {}
    for text in texts:
        path, equals, written = text.partition("=")
        if not equals or not path:
            raise PolyglanceError(f"--set {text}: expected path=value, such as training.lr=1e-3")
        try:
            result = _joined(result, nested({path: _value(written)}))
        except (yaml.YAMLError, RecursionError):
            raise PolyglanceError(f"--set {text}: the value is not valid YAML") from None
    return result


def _is_value(annotation: Any) -> bool:
    """Whether a field is known and not a section, though it may be a mapping."""
    return annotation is not None and not variants_of(annotation) and not section_of(annotation)


def _fields_of_kind(annotation: Any, value: Mapping[str, Any]) -> frozenset[str] | None:
    """The fields of a section of this value's kind; None if it has no kinds, or is of none."""
    variant = variants_of(annotation).get(value.get("kind", ""))
    return None if variant is None else fields_of(variant)


def _joined(below: Mapped, above: Mapped) -> Mapped:
    """Merge two mappings regardless of kinds; `above` takes precedence."""
    both = dict(below)
    for key, value in above.items():
        old = below.get(key)
        both[key] = (
            _joined(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return both


def _value(text: str) -> Any:
    """Parse a YAML value; 1e-3, a string in YAML 1.1, is a number."""
    value = parse_yaml(text)
    if isinstance(value, str) and any(map(str.isdigit, value)):
        try:
            return float(value)
        except ValueError:
            return value
    return value
