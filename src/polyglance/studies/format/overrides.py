"""Changes to a recipe, or to an experiment's settings, as mappings."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyglance.recipes.merge import nested, parse_overrides
from polyglance.recipes.v0_1_0 import is_old, upgrade

LANGUAGE = "$language"

Changes = dict[str, Any]


def read_changes(value: Any) -> Any:
    """Changes as sections within sections, from a mapping or from `path=value` texts.

    >>> read_changes({"text": {"pooling": "max"}, "data.languages": ["en"]})
    {'text': {'pooling': 'max'}, 'data': {'languages': ['en']}}
    """
    if isinstance(value, Mapping):
        return nested(value)
    texts = isinstance(value, Sequence) and all(isinstance(text, str) for text in value)
    return parse_overrides(value) if texts and not isinstance(value, str) else value


def renewed(changes: Changes) -> Changes:
    """Changes to a recipe in today's form, also those that version 0.1.0 took."""
    return upgrade(changes) if is_old(changes) else changes


def in_old_form(value: Any) -> bool:
    """Whether a study has changes in the form of version 0.1.0, in any of its parts.

    Args:
        value: what the study file says, as a mapping.
    """
    if isinstance(value, list):
        return any(map(in_old_form, value))
    if not isinstance(value, Mapping):
        return False
    return is_old(value.get("overrides")) or any(map(in_old_form, value.values()))


def replaced(value: Any, mark: str, text: str | None) -> Any:
    """Replace a mark in all texts of a value, keys included.

    Args:
        value: mappings and lists of texts, or one text.
        mark: such as `$language`.
        text: what replaces it; None leaves the value as it is.

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
