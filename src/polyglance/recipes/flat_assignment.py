"""Reads older recipes, in which the fields of `text.embedder.rare.assignment` were flat."""

from collections.abc import Iterator, Mapping
from typing import Any

from polyglance.core.sections import variants_of
from polyglance.recipes.schema import AssignmentRecipe

Mapped = dict[str, Any]

PATH = ("text", "embedder", "rare")
KINDS = variants_of(AssignmentRecipe)
FIELDS = {name for kind in KINDS.values() for name in kind.model_fields} - {"kind"}


def moved_assignment(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(old path, new path) of fields that are now in the section, in a recipe or overrides."""
    where, rare = ".".join(PATH), _rare(value)
    for name in rare:
        if name in FIELDS:
            yield f"{where}.{name}", f"{where}.assignment.{name}"
    if isinstance(rare.get("assignment"), str):
        yield f"{where}.assignment", f"{where}.assignment.kind"


def with_assignment(value: Mapped) -> Mapped:
    """Convert a recipe in either form, or a part of one, to today's; idle fields are dropped.

    >>> rare = {"kind": "latent", "assignment": "random", "tokens": 9, "explore": 0.2}
    >>> with_assignment({"text": {"embedder": {"rare": rare}}})["text"]["embedder"]["rare"]
    {'kind': 'latent', 'assignment': {'kind': 'random'}, 'tokens': 9}
    """
    if not any(moved_assignment(value)):
        return value
    rare = _rare(value)
    named, own = rare.get("assignment"), {k: v for k, v in rare.items() if k in FIELDS}
    if isinstance(named, Mapping):
        own |= named
    elif named is not None:
        known = KINDS[named].model_fields if str(named) in KINDS else own
        own = {"kind": named} | {k: v for k, v in own.items() if k in known}
    kept = {k: v for k, v in rare.items() if k not in FIELDS}
    return _with_rare(value, {**kept, "assignment": own})


def without_assignment(value: Mapped) -> Mapped:
    """Convert a recipe, without defaults, to the former form, which is part of runs' keys.

    >>> rare = {"kind": "latent", "assignment": {"kind": "paper", "soft": 0.5}}
    >>> without_assignment({"text": {"embedder": {"rare": rare}}})["text"]["embedder"]["rare"]
    {'kind': 'latent', 'soft': 0.5}
    """
    rare = dict(_rare(value))
    own = rare.pop("assignment", None)
    if own is None:
        return value
    named = {} if own["kind"] == next(iter(KINDS)) else {"assignment": own["kind"]}
    return _with_rare(value, {**rare, **named, **{k: v for k, v in own.items() if k != "kind"}})


def _with_rare(value: Mapped, rare: Mapped) -> Mapped:
    """The recipe with its section `rare` replaced."""
    text = value["text"]
    return {**value, "text": {**text, "embedder": {**text["embedder"], "rare": rare}}}


def _rare(value: Mapping[str, Any]) -> Mapping[str, Any]:
    place: Any = value
    for name in PATH:
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else {}
