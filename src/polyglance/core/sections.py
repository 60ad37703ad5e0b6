"""Sections of documents such as recipes, and their variants, distinguished by `kind`."""

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
)
from pydantic_core import CoreSchema, core_schema


class Section(BaseModel):
    """A group of fields; frozen, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Variant(Section):
    """One of several forms of a section, distinguished by its field `kind`."""

    kind: Any

    @model_serializer(mode="wrap")
    def _with_kind(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Always write the kind, even if defaults are omitted."""
        return {"kind": self.kind, **serialise(self)}


class OpenUnion:
    """Second base class, beside `Variant`, of a variant base to which variants can be added.

    As an annotation, that base stands for the union of its variants; a section without a kind is
    of the first one.
    """

    added: ClassVar[dict[str, type[Variant]]]
    _union: ClassVar[TypeAdapter[Any] | None]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if _is_open(cls):
            cls.added, cls._union = {}, None

    @classmethod
    def add(cls, variant: type[Variant]) -> None:
        """Add a variant; adding it again does nothing, another one of the same kind is an error."""
        kind = kind_of(variant)
        if cls.added.setdefault(kind, variant) is not variant:
            raise ValueError(f"kind '{kind}' is registered twice")
        cls._union = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not _is_open(cls):
            return handler(source)
        return core_schema.no_info_plain_validator_function(cls._choose)

    @classmethod
    def _choose(cls, value: Any) -> Any:
        """Validate as the union would."""
        if cls._union is None:
            union: Any = reduce(or_, cls.added.values())
            cls._union = TypeAdapter(Annotated[union, UnionByKind()])
        return cls._union.validate_python(value)


class UnionByKind:
    """Marks a union of variants: `Annotated[A | B, UnionByKind()]`.

    A section without a kind is of the first.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        choices = {kind: handler.generate_schema(one) for kind, one in variants_of(source).items()}
        first = next(iter(choices))

        def kind(value: Any) -> Any:
            if isinstance(value, dict):
                return value.get("kind", first)
            return getattr(value, "kind", None)

        return core_schema.tagged_union_schema(choices, discriminator=kind)


def kind_of(variant: type[Variant]) -> str:
    """A variant's value of `kind`."""
    return str(get_args(variant.model_fields["kind"].annotation)[0])


def variants_of(annotation: Any) -> dict[str, type[Variant]]:
    """Kind → variant of a field's annotation, the default first; empty if it has no variants."""
    if _is_open(annotation):
        return dict(annotation.added)
    return _closed_variants(annotation)


@cache
def _closed_variants(annotation: Any) -> dict[str, type[Variant]]:
    found: dict[str, type[Variant]] = {}
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Variant):
            found[kind_of(part)] = part
        elif part is not annotation:
            found |= variants_of(part)
    return found


def variant_of(annotation: Any, value: Any) -> Any:
    """The class of a section's value, by kind if it has variants; None if unknown."""
    variants = variants_of(annotation)
    if not variants:
        return section_of(annotation)
    kind = value.get("kind", next(iter(variants)))
    return variants.get(kind) if isinstance(kind, str) else None


@cache
def section_of(annotation: Any) -> Any:
    """The section class in an annotation such as `TransferRecipe | None`, or None."""
    if _is_open(annotation):
        return None
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    found = [part for part in map(section_of, get_args(annotation)) if part is not None]
    return found[0] if len(found) == 1 else None


def _is_open(annotation: Any) -> bool:
    """Whether an annotation is an `OpenUnion` base of variants."""
    return isinstance(annotation, type) and OpenUnion in annotation.__bases__


@cache
def fields_of(section: type[BaseModel]) -> frozenset[str]:
    """The names of a section's fields."""
    return frozenset(section.model_fields)


@cache
def field_of(schema: Any, name: str) -> Any:
    """The annotation of a field, or None if the schema has no such field."""
    if isinstance(schema, type) and issubclass(schema, BaseModel) and name in schema.model_fields:
        return schema.model_fields[name].annotation
    return None
