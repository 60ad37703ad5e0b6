"""Sections of documents such as recipes, and their variants, which are told apart by `kind`."""

from functools import lru_cache
from typing import Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
)


class Section(BaseModel):
    """Some fields: unknown ones are errors, values never change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Variant(Section):
    """One of several forms of a section, told apart by its field `kind`."""

    kind: Any

    @model_serializer(mode="wrap")
    def _with_kind(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The kind is always told, also where defaults are left out."""
        return {"kind": self.kind, **serialise(self)}


@lru_cache(maxsize=None)
def kind_of(variant: type[Variant]) -> str:
    """The value of `kind` that means this variant."""
    return str(get_args(variant.model_fields["kind"].annotation)[0])


@lru_cache(maxsize=None)
def variants_of(annotation: Any) -> dict[str, type[Variant]]:
    """Kind → variant of a field's annotation; empty where it has no variants.

    The first is that of sections that do not say their kind.
    """
    found: dict[str, type[Variant]] = {}
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Variant):
            found[kind_of(part)] = part
        elif part is not annotation:
            found |= variants_of(part)
    return found


def variant_of(annotation: Any, value: Any) -> Any:
    """The class of a section's value: by its kind where it has variants; None is unknown."""
    variants = variants_of(annotation)
    if not variants:
        return section_of(annotation)
    kind = value.get("kind", next(iter(variants)))
    return variants.get(kind) if isinstance(kind, str) else None


@lru_cache(maxsize=None)
def section_of(annotation: Any) -> Any:
    """The section in an annotation such as `TransferRecipe | None`; None if there is none."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    found = [part for part in map(section_of, get_args(annotation)) if part is not None]
    return found[0] if len(found) == 1 else None


def field_of(schema: Any, name: str) -> Any:
    """The annotation of a field, or None where a schema has no fields or not this one."""
    if isinstance(schema, type) and issubclass(schema, BaseModel) and name in schema.model_fields:
        return schema.model_fields[name].annotation
    return None


def tagged(variant: type[Variant]) -> Tag:
    """What marks a variant in a union that `by_kind` discriminates."""
    return Tag(kind_of(variant))


def by_kind(default: str) -> Discriminator:
    """Chooses a variant by `kind`, or `default` where a section does not say its kind."""

    def kind(value: Any) -> Any:
        if isinstance(value, dict):
            return value.get("kind", default)
        return getattr(value, "kind", None)

    return Discriminator(kind)
