"""Recipes as version 0.1.0 wrote them: flat sections, read as nested ones."""

from collections.abc import Iterator, Mapping
from typing import Any

from polyglance.recipes.schema import Recipe
from polyglance.sections import field_of, variant_of, variants_of

Mapped = dict[str, Any]

MOVES: dict[str, tuple[str, ...]] = {
    "data.photos": ("data.images",),
    "image.head": ("image.head.kind",),
    "image.hidden": ("image.head.hidden",),
    "text.threshold": ("text.embedder.min_count",),
    "text.scope": ("text.embedder.scope",),
    "text.ends": ("text.embedder.ends",),
    "text.embedder": ("text.embedder.kind",),
    "text.layers": ("text.embedder.layers",),
    "text.characters": ("text.embedder.char_dim",),
    "text.word_length": ("text.embedder.word_length",),
    "text.alphabet": ("text.embedder.alphabet",),
    "text.vectors": ("text.embedder.vectors",),
    "text.trained": ("text.embedder.trained",),
    "text.known": ("text.embedder.known",),
    "text.centre": ("text.embedder.centre",),
    "text.copy_subwords": ("text.embedder.copy_subwords",),
    "text.words": ("text.embedder.word_dim",),
    "text.encoder": ("text.encoder.kind",),
    "text.heads": ("text.encoder.heads",),
    "text.head_size": ("text.encoder.head_dim",),
    "text.attention_dropout": ("text.encoder.attention_dropout",),
    "text.layer_dropout": ("text.encoder.layer_dropout",),
    "text.pretrained": ("text.encoder.pretrained", "text.embedder.pretrained"),
    "text.hidden": ("text.encoder.hidden",),
    "text.biases": ("text.encoder.biases",),
    "text.directions": ("text.encoder.directions",),
    "universal.vectors": ("text.embedder.vectors",),
    "universal.trained": ("text.embedder.vector_dim",),
    "universal.corpus": ("text.embedder.corpus",),
    "universal.dim": ("text.embedder.own_dim",),
    "universal.frequent": ("text.embedder.frequent",),
    "universal.often": ("text.embedder.frequent_count",),
    "universal.rare": ("text.embedder.rare.kind",),
    "universal.latent": ("text.embedder.rare.tokens",),
    "universal.explore": ("text.embedder.rare.explore",),
    "universal.candidates": ("text.embedder.rare.candidates",),
    "universal.epochs": ("text.embedder.rare.epochs",),
    "universal.updates": ("text.embedder.rare.updates",),
    "universal.lr": ("text.embedder.rare.lr",),
    "universal.lexicon": ("text.embedder.lexicon",),
    "universal.pivot": ("text.embedder.rare.pivot",),
    "universal.precomputed": ("text.embedder.stored",),
    "joint.similarity": ("joint.similarity.kind",),
    "attention.matching": ("joint.similarity.kind",),
    "attention.direction": ("joint.similarity.direction",),
    "attention.aggregate": (),
    "attention.smooth": ("joint.similarity.smooth",),
    "attention.lse": ("joint.similarity.lse",),
    "attention.steps": ("joint.similarity.steps",),
    "augment.vectors": ("augment.vector_drop",),
    "augment.words": ("augment.word_drop",),
    "augment.masked": ("augment.mask_share",),
    "augment.random": ("augment.replace_share",),
    "augment.ends": ("augment.include_ends",),
    "loss.name": ("loss.kind",),
    "loss.captions": ("loss.caption_weight",),
    "loss.images": ("loss.image_weight",),
    "tasks.sampling": ("sampling.kind",),
    "tasks.c2c": ("sampling.c2c", "sampling.c2c_weight"),
    "tasks.text_only": ("sampling.text_only",),
    "tasks.grounded": ("sampling.grounded",),
    "constraints.captions": ("sampling.captions",),
    "constraints.mono": ("sampling.mono_weight",),
    "constraints.cross": ("sampling.cross_weight",),
    "constraints.cross_words": ("sampling.cross_words_weight",),
    "constraints.adversary": ("sampling.adversary_weight",),
    "constraints.anchor": ("sampling.anchor_weight",),
    "constraints.masking": ("sampling.masking_weight",),
    "constraints.masked": ("sampling.mask_share",),
    "constraints.masked_matching": ("sampling.masked_matching",),
    "constraints.detach": ("sampling.detach",),
    "constraints.pretrain_epochs": ("sampling.pretrain_epochs",),
    "constraints.pretrain_updates": ("sampling.pretrain_updates",),
    "training.schedule": ("training.schedule.kind",),
    "training.decay_every": ("training.schedule.every",),
    "training.decay": ("training.schedule.decay", "training.schedule.floor"),
    "compat.c2c_photos": ("compat.c2c_images",),
}
"""Old path → new paths; of several, the section's kind has one."""

GONE = ("universal", "attention", "tasks", "constraints")
"""Sections that are parts of others now."""


def is_old(value: Any) -> bool:
    """Whether a recipe, or changes to one, are in the form of version 0.1.0."""
    return isinstance(value, dict) and (
        any(section in value for section in GONE)
        or any(path in MOVES for path, _ in _leaves(value))
    )


def upgrade(value: Mapped) -> Mapped:
    """A recipe of version 0.1.0, or a part of one, in today's form.

    It may have fields that do nothing for their section's kind, as the old form allowed: `prune`
    leaves them out once the kind is known, that is, above the recipe's base.

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
    """A recipe without what does nothing for its kinds: fields that other kinds have.

    Of transfer and translation, which a recipe may not have, settings alone are left out, too. A
    field that no kind has stays, and is an error.

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
        section = variant_of(annotation, own) if isinstance(own, Mapping) else None
        if section is not None:
            others = [variant.model_fields for variant in variants_of(annotation).values()]
            foreign = {field for fields in others for field in fields} - set(section.model_fields)
            own = _pruned({k: v for k, v in own.items() if k not in foreign}, section)
        result[name] = own
    return result


def _special(old: Mapped, new: Mapped) -> None:
    """What is not a matter of one field's new place."""
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
    """(path, value) of everything below sections; a mapping that is a value is one leaf."""
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
