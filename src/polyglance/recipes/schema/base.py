"""What all sections of a recipe have in common."""

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
    """A section of a recipe: unknown fields are errors, values never change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Variant(Section):
    """One of several forms of a section, told apart by its field `kind`."""

    kind: Any

    @model_serializer(mode="wrap")
    def _with_kind(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The kind is always told, also where defaults are left out."""
        return {"kind": self.kind, **serialise(self)}


def kind_of(variant: type[Variant]) -> str:
    """The value of `kind` that means this variant."""
    return str(get_args(variant.model_fields["kind"].annotation)[0])


def variants_of(annotation: Any) -> dict[str, type[Variant]]:
    """Kind → variant of a field's annotation; empty where it has no variants."""
    found: dict[str, type[Variant]] = {}
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Variant):
            found[kind_of(part)] = part
        elif part is not annotation:
            found |= variants_of(part)
    return found


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
