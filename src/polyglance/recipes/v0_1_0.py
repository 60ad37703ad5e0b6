"""Converts recipes of version 0.1.0, which had flat sections, to nested ones."""

from collections.abc import Iterator, Mapping
from typing import Any

from polyglance.core.sections import field_of, fields_of, variant_of, variants_of
from polyglance.recipes.schema import Recipe

Mapped = dict[str, Any]


def _moved(old: str, new: str, same: str = "", **renamed: str) -> dict[str, tuple[str, ...]]:
    """Fields of a section that moved to another one, with the same name or a new one."""
    names = dict.fromkeys(same.split()) | renamed
    return {f"{old}.{field}": (f"{new}.{names[field] or field}",) for field in names}


MOVES: dict[str, tuple[str, ...]] = {
    **_moved("data", "data", photos="images"),
    **_moved("image", "image.head", "hidden", head="kind"),
    **_moved(
        "text",
        "text.embedder",
        "scope ends layers word_length alphabet vectors trained known centre copy_subwords",
        **{"embedder": "kind", "words": "word_dim", "characters": "char_dim"},
        threshold="min_count",
    ),
    **_moved(
        "text",
        "text.encoder",
        "hidden biases directions heads attention_dropout layer_dropout",
        **{"encoder": "kind", "head_size": "head_dim"},
    ),
    "text.pretrained": ("text.encoder.pretrained", "text.embedder.pretrained"),
    **_moved(
        "universal",
        "text.embedder",
        "vectors corpus frequent lexicon",
        **{"trained": "vector_dim", "dim": "own_dim"},
        **{"often": "frequent_count", "precomputed": "stored"},
    ),
    **_moved(
        "universal",
        "text.embedder.rare",
        "pivot",
        **{"rare": "kind", "latent": "tokens"},
    ),
    **_moved("universal", "text.embedder.rare.assignment", "explore candidates epochs updates lr"),
    **_moved("joint", "joint.similarity", similarity="kind"),
    **_moved("attention", "joint.similarity", "direction smooth lse steps", matching="kind"),
    "attention.aggregate": (),
    **_moved("augment", "augment", vectors="vector_drop", words="word_drop", ends="include_ends"),
    **_moved("augment", "augment", masked="mask_share", random="replace_share"),
    **_moved("loss", "loss", name="kind", captions="caption_weight", images="image_weight"),
    **_moved("tasks", "sampling", "text_only grounded", sampling="kind"),
    "tasks.c2c": ("sampling.c2c", "sampling.c2c_weight"),
    **_moved(
        "constraints",
        "sampling",
        "captions masked_matching detach pretrain_epochs pretrain_updates",
        **{"mono": "mono_weight", "cross": "cross_weight", "cross_words": "cross_words_weight"},
        **{"adversary": "adversary_weight", "anchor": "anchor_weight"},
        **{"masking": "masking_weight", "masked": "mask_share"},
    ),
    **_moved("training", "training.schedule", schedule="kind", decay_every="every"),
    "training.decay": ("training.schedule.decay", "training.schedule.floor"),
    **_moved("compat", "compat", c2c_photos="c2c_images"),
}
"""Old path → new paths; of several, the section's kind determines which one applies."""

GONE = ("universal", "attention", "tasks", "constraints")
"""Sections that are now parts of others."""


def is_old(value: Any) -> bool:
    """Whether a recipe or overrides are in the form of version 0.1.0."""
    return isinstance(value, dict) and (
        any(section in value for section in GONE) or any(moved_fields(value))
    )


def moved_fields(value: Mapping[str, Any]) -> Iterator[str]:
    """Paths of fields that have moved."""
    for section, own in value.items():
        for field, leaf in own.items() if isinstance(own, Mapping) else ():
            if f"{section}.{field}" in MOVES and not isinstance(leaf, Mapping):
                yield f"{section}.{field}"


def upgrade(value: Mapped) -> Mapped:
    """A recipe of version 0.1.0, or a part of one, in today's form.

    The old form allowed fields that have no effect for their section's kind; `prune` removes them
    when the kind is known, that is, after merging with the base.

    >>> upgrade({"text": {"embedder": "liwe", "characters": 120}, "loss": {"name": "infonce"}})
    {'text': {'embedder': {'kind': 'liwe', 'char_dim': 120}}, 'loss': {'kind': 'infonce'}}
    """
    result: Mapped = {}
    universal = _get(value, "text.embedder") == "universal"
    flat = isinstance(_get(value, "text.embedder"), str)
    for path, leaf in _leaves(value):
        if path == "text.vectors" and universal:
            continue
        if path.startswith("universal.") and flat and not universal:
            continue
        for new in MOVES.get(path, (path,)):
            _put(result, new, leaf)
    _special(value, result)
    return result


def prune(value: Mapping[str, Any]) -> Mapped:
    """Remove fields that only other kinds of their section have.

    Also removes incomplete transfer and translation sections. A field that no kind has is kept, and
    is an error.

    >>> prune({"loss": {"kind": "infonce", "margin": 1, "margn": 2}, "transfer": {"keep": True}})
    {'loss': {'kind': 'infonce', 'margn': 2}}
    """
    result = _pruned(value, Recipe)
    text = result.get("text")
    if isinstance(text, dict) and _get(text, "encoder.kind") == "transformer":
        result["text"] = {k: v for k, v in text.items() if k not in ("projection", "word_dropout")}
    for name, needed in _OPTIONAL.items():
        own = result.get(name)
        if isinstance(own, dict) and not any(own.get(field) for field in needed):
            del result[name]
    return result


_OPTIONAL = {"transfer": ("source",), "translation": ("to", "consistency")}


def _pruned(value: Mapping[str, Any], schema: Any) -> Mapped:
    result: Mapped = {}
    for name, own in value.items():
        annotation = field_of(schema, name)
        section = variant_of(annotation, own) if isinstance(own, dict) else None
        if section is not None:
            every = frozenset[str]().union(*map(fields_of, variants_of(annotation).values()))
            foreign = every - fields_of(section)
            own = _pruned({k: v for k, v in own.items() if k not in foreign}, section)
        result[name] = own
    return result


def _special(old: Mapped, new: Mapped) -> None:
    """Changes that are more than a field's new path."""
    if _get(old, "text.encoder") == "transformer":
        _put(new, "text.embedder.kind", "pieces")
    similarity = _get(old, "joint.similarity")
    if isinstance(similarity, str) and similarity.startswith("order"):
        _put(new, "joint.similarity.kind", "order")
        _put(new, "joint.similarity.squared", similarity == "order-squared")
    matching = _get(old, "attention.matching")
    if matching == "none":
        _put(new, "joint.similarity.kind", "order" if str(similarity)[:5] == "order" else "cosine")
    aggregate = _get(old, "attention.aggregate") or ("mean" if matching == "scan" else None)
    if aggregate == "mean":
        _put(new, "joint.similarity.lse", None)
    elif aggregate == "lse" and _get(old, "attention.lse") is None:
        _put(new, "joint.similarity.lse", 6.0)
    share = _get(new, "sampling.c2c")
    if isinstance(share, int | float):
        _put(new, "sampling.c2c", min(float(share), 1.0))
    transfer = new.get("transfer")
    if isinstance(transfer, dict) and "source" in transfer and transfer["source"] is None:
        new["transfer"] = None


def _leaves(value: Mapped, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of all fields; a mapping that is a value is one leaf."""
    for name, own in value.items():
        path = f"{prefix}{name}"
        if isinstance(own, dict) and prefix.count(".") < 2 and path not in _VALUES:
            yield from _leaves(own, f"{path}.")
        else:
            yield path, own


_VALUES = ("data.kinds", "training.multipliers")


def _get(value: Mapped, path: str) -> Any:
    place: Any = value
    for part in path.split("."):
        place = place.get(part) if isinstance(place, dict) else None
    return place


def _put(value: Mapped, path: str, leaf: Any) -> None:
    *sections, last = path.split(".")
    place = value
    for section in sections:
        place = place.setdefault(section, {})
    place[last] = leaf
