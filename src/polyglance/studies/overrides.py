"""Changes to a recipe as `path=value` texts."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from polyglance.recipes.schema import Recipe

LANGUAGE = "$language"


def flatten(value: dict[str, Any], prefix: str = "") -> list[str]:
    """A mapping, dotted or nested, as `path=value` texts.

    >>> flatten({"text": {"hidden": 8}, "data.languages": ["en"]})
    ['text.hidden=8', 'data.languages=["en"]']
    """
    texts: list[str] = []
    for key, item in value.items():
        path = f"{prefix}{key}"
        if isinstance(item, dict) and _is_section(path):
            texts += flatten(item, f"{path}.")
        else:
            texts.append(assign(path, item))
    return texts


def assign(path: str, value: Any) -> str:
    """One override; JSON is YAML, which the recipe loader reads."""
    return f"{path}={json.dumps(value, ensure_ascii=False)}"


def for_language(overrides: Sequence[str], language: str | None) -> list[str]:
    """Put a language in the place of `$language`."""
    if language is None:
        return list(overrides)
    return [text.replace(LANGUAGE, language) for text in overrides]


def _is_section(path: str) -> bool:
    """Whether a recipe's field has fields; a plain mapping (a value) is not taken apart."""
    model: Any = Recipe
    for part in path.split("."):
        if part not in getattr(model, "model_fields", {}):
            return False
        model = model.model_fields[part].annotation
    return isinstance(model, type) and issubclass(model, BaseModel)
