"""The trained model that another one starts from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import Recipe
from polyglance.recipes.schema import TransferRecipe
from polyglance.registry import nearest
from polyglance.text.vector_words import VectorReader

RUN = "run:"


def source_folder(name: str, out: Path) -> Path:
    """The source model's folder; `run:KEY` is another run beside that of the model `out`."""
    if name.startswith(RUN):
        return out.parent.parent / name.removeprefix(RUN) / "model"
    return Path(name).expanduser()


def freeze(model: Model, new: Sequence[str]) -> None:
    """Train nothing but the words, or the translators, of the languages `new`."""
    for name, parameter in model.network.named_parameters():
        parts = name.split(".")
        own = {"added", "translators"} & set(parts)
        code = next((p for p in parts[::-1] if p.startswith("language_")), "")
        parameter.requires_grad = bool(own) and code.removeprefix("language_") in new


def pivot_of(transfer: TransferRecipe, old: Model) -> str:
    """The language of the source that the dictionary translates to."""
    codes = old.languages
    if isinstance(old.reader, VectorReader):
        codes = [code for code, part in old.reader.languages.items() if not part.translated]
    if transfer.pivot is None:
        return "en" if "en" in codes else codes[0]
    if transfer.pivot not in codes:
        hint = nearest(transfer.pivot, codes)
        raise PolyglanceError(f"transfer.pivot '{transfer.pivot}' is not the source's{hint}")
    return transfer.pivot


def copy_weights(old: Model, new: Model) -> None:
    """Everything that both networks have; what the new one has besides stays as it is."""
    there = set(new.network.state_dict())
    state = {name: value for name, value in old.network.state_dict().items() if name in there}
    new.network.load_state_dict(state, strict=False)


ALIKE = ("text", "image", "joint")
"""Sections in which a model and its source are alike."""
FREE = {
    *(f"text.embedder.{name}" for name in ("vectors", "trained", "known", "copy_subwords")),
    *("text.embedder.lexicon", "text.embedder.pretrained", "text.encoder.pretrained"),
}
"""Their fields in which they need not be."""


def check_alike(recipe: Recipe, source: Model, feature_dim: int, folder: Path) -> None:
    """A source of another shape is an error that names the first field that differs."""
    if source.feature_dim != feature_dim:
        raise PolyglanceError(
            f"{folder}: was trained on features of size {source.feature_dim}, and "
            f"'{recipe.image.feature}' has {feature_dim} here"
        )
    wanted, found = (
        dict(_fields(one.model_dump(include=set(ALIKE)))) for one in (recipe, source.recipe)
    )
    for field, value in found.items():
        if field not in FREE and wanted.get(field) != value:
            raise PolyglanceError(
                f"{folder}: was trained with {field}={value}, and the recipe has "
                f"{wanted.get(field)}; --set {field}={value}"
            )


def _fields(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and value of everything in sections, a section's kind first."""
    for name, own in value.items():
        if isinstance(own, Mapping):
            yield from _fields(own, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", own
