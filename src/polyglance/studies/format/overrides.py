"""Overrides of a recipe, or of an experiment's settings, as mappings."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyglance.recipes.merge import nested, parse_overrides
from polyglance.recipes.v0_1_0 import is_old, upgrade

LANGUAGE = "$language"

Changes = dict[str, Any]


def read_changes(value: Any) -> Any:
    """Overrides as nested sections, from a mapping or from `path=value` strings.

    >>> read_changes({"text": {"pooling": "max"}, "data.languages": ["en"]})
    {'text': {'pooling': 'max'}, 'data': {'languages': ['en']}}
    """
    if isinstance(value, Mapping):
        return nested(value)
    texts = isinstance(value, Sequence) and all(isinstance(text, str) for text in value)
    return parse_overrides(value) if texts and not isinstance(value, str) else value


def upgraded(changes: Changes) -> Changes:
    """Overrides of a recipe in the current form, converted from version 0.1.0 if necessary."""
    return upgrade(changes) if is_old(changes) else changes


def is_v0_1_0(value: Any) -> bool:
    """Whether any part of a study has overrides in the form of version 0.1.0.

    Args:
        value: content of the study file, as a mapping.
    """
    if isinstance(value, list):
        return any(map(is_v0_1_0, value))
    if not isinstance(value, Mapping):
        return False
    return is_old(value.get("overrides")) or any(map(is_v0_1_0, value.values()))


def replaced(value: Any, mark: str, text: str | None) -> Any:
    """Replace a placeholder in all strings of a value, including keys.

    Args:
        value: mappings and lists of strings, or one string.
        mark: such as `$language`.
        text: the replacement; None leaves the value unchanged.

    >>> replaced({"data": {"languages": ["en", "$language"]}}, "$language", "de")
    {'data': {'languages': ['en', 'de']}}
    """
    if text is None:
        return value
    if isinstance(value, str):
        return value.replace(mark, text)
    if isinstance(value, Mapping):
        return {replaced(k, mark, text): replaced(v, mark, text) for k, v in value.items()}
    return [replaced(one, mark, text) for one in value] if isinstance(value, list) else value
