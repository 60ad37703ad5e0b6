"""Overrides of a recipe, or of an experiment's settings, as mappings."""

import json
from collections.abc import Iterator, Mapping, Sequence
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


def override_texts(value: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Overrides as `path=value` strings, from either form.

    >>> override_texts({"text": {"pooling": "max"}, "data.languages": ["en"]})
    ['text.pooling=max', 'data.languages=["en"]']
    """
    if not isinstance(value, Mapping):
        return list(value)
    return [f"{path}={_text(leaf)}" for path, leaf in _leaves(nested(value))]


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, own in value.items():
        if isinstance(own, Mapping) and own:
            yield from _leaves(own, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", own


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def upgraded(changes: Changes) -> Changes:
    """Overrides of a recipe in the current form, converted from version 0.1.0 if necessary."""
    return upgrade(changes) if is_old(changes) else changes


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
