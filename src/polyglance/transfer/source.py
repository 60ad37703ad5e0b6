"""The trained model that another one starts from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyglance.core.registry import nearest
from polyglance.core.shipped import BASE
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes.schema import Recipe, TransferRecipe
from polyglance.runtime.folders import check_model_folder, shipped
from polyglance.runtime.manifest import is_exported

RUN = "run:"
SECTIONS = ("text", "image", "joint")
"""Sections in which a model and its source must agree."""
FREE = {
    "text.embedder.vectors",
    "text.embedder.trained",
    "text.embedder.known",
    "text.embedder.copy_subwords",
    "text.embedder.lexicon",
    "text.embedder.kept_pieces",
    "text.embedder.piece_texts",
    "text.embedder.pretrained",
    "text.encoder.pretrained",
}
"""Fields in which they may differ."""


def source_folder(name: str, out: Path) -> Path:
    """The source model's folder.

    `run:KEY` is another run, beside that of the model `out`; `base` is the included model.
    """
    if name == BASE:
        return shipped()
    if name.startswith(RUN):
        return out.parent.parent / name.removeprefix(RUN) / "model"
    return Path(name).expanduser()


def load_source(folder: Path) -> Model:
    """The model of a run, or an exported one."""
    check_model_folder(folder)
    if not is_exported(folder):
        return Model.load(folder)
    from polyglance.runtime.conversion.restore import restore

    return restore(folder)


def freeze(model: Model, languages: Sequence[str]) -> None:
    """Freeze everything but the added words or translators of `languages`."""
    for name, parameter in model.network.named_parameters():
        parts = name.split(".")
        own = {"added", "translators"} & set(parts)
        code = next((p for p in parts[::-1] if p.startswith("language_")), "")
        parameter.requires_grad = bool(own) and code.removeprefix("language_") in languages


def pivot_of(transfer: TransferRecipe, source: Model) -> str:
    """The source's language that the dictionary translates into."""
    languages = source.embedder.pivot_languages(source.languages)
    if transfer.pivot is None:
        return "en" if "en" in languages else languages[0]
    if transfer.pivot not in languages:
        hint = nearest(transfer.pivot, languages)
        raise PolyglanceError(
            f"transfer.pivot '{transfer.pivot}' is not a language of the source{hint}"
        )
    return transfer.pivot


def copy_weights(old: Model, new: Model) -> None:
    """Copy all weights that both networks have; the others of `new` stay as they are."""
    there = set(new.network.state_dict())
    state = {name: value for name, value in old.network.state_dict().items() if name in there}
    new.network.load_state_dict(state, strict=False)


def check_compatible(recipe: Recipe, source: Model, feature_dim: int, folder: Path) -> None:
    """Raise an error that names the first field in which recipe and source differ.

    Args:
        recipe: of the new model.
        source: the model it starts from.
        feature_dim: dimension of the available image features.
        folder: of the source, for the message.
    """
    if source.feature_dim != feature_dim:
        raise PolyglanceError(
            f"{folder}: was trained on features of dimension {source.feature_dim}, but "
            f"'{recipe.image.feature}' has {feature_dim} here"
        )
    wanted, found = (dict(_fields(one.model_dump())) for one in (recipe, source.recipe))
    # Kinds first: other fields differ because of them.
    for path in sorted((*wanted, *found), key=lambda path: not path.endswith(".kind")):
        if path not in FREE and wanted.get(path) != found.get(path):
            raise PolyglanceError(
                f"{folder}: was trained with {path}={found.get(path)}, but the recipe has "
                f"{wanted.get(path)}; --set {path}={found.get(path)}"
            )


def _fields(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Paths and values of the sections in which a model and its source must agree."""
    waiting = [(name, value[name]) for name in SECTIONS]
    for path, own in waiting:
        if isinstance(own, Mapping):
            waiting += [(f"{path}.{name}", below) for name, below in own.items()]
        else:
            yield path, own
