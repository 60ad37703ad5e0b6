"""Options of a layout, from the signature of its converter."""

import inspect
from collections.abc import Iterable
from typing import Any

from polyglance.core.registry import nearest
from polyglance.data.convert.common import Converter
from polyglance.errors import PolyglanceError


def options_of(converter: Converter) -> dict[str, Any]:
    """Option → default."""
    parameters = inspect.signature(converter).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def parse_options(converter: Converter, layout: str, texts: Iterable[str]) -> dict[str, Any]:
    """Options of a layout as keyword arguments; the error for an unknown one suggests the nearest.

    Args:
        converter: of the layout.
        layout: its name, for errors.
        texts: of the form `name=value`.
    """
    defaults, parsed = options_of(converter), {}
    for text in texts:
        name, separator, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not separator:
            raise PolyglanceError(f"option '{text}' must have the form name=value")
        if name not in defaults:
            hint = nearest(name, list(defaults)) if defaults else " (it has none)"
            raise PolyglanceError(f"layout '{layout}' has no option '{name}'{hint}")
        try:
            parsed[name] = type(defaults[name])(value.strip())
        except ValueError:
            raise PolyglanceError(f"option {name} must be a number, not '{value}'") from None
    return parsed


def summary(converter: Converter) -> str:
    """The first line of the converter's docstring."""
    return (converter.__doc__ or "").strip().splitlines()[0]
