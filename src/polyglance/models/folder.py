"""Writes model folders, and reads them with checks before anything is built."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyglance.core.trust import refuse_foreign_feature, refuse_links
from polyglance.core.version import __version__
from polyglance.errors import PolyglanceError
from polyglance.models.networks.network import build_network
from polyglance.recipes import Recipe, check_recipe
from polyglance.storage.files import atomic, has_file, read_json, refuse_pipes, write_json
from polyglance.text.embedders import Embedder, load_embedder
from polyglance.text.embedders.pretrained import located

CONFIG, WEIGHTS = "model.json", "model.safetensors"
NO_WEIGHTS = "no-weights.txt"
"""File in a run's folder without weights: why, and how to train the model here."""
FORMAT = 1
Parts = tuple[Recipe, Embedder, int, list[str], bool]
"""Recipe, embedder, feature dimension, languages, and whether it was trained on drawings only."""


def read_config(folder: Path, with_weights: bool = False) -> Parts:
    """Read a model's folder without its weights.

    Args:
        folder: of the model.
        with_weights: whether to check that the sizes in the weights file fit, so that a folder with
            wrong sizes is rejected before memory is allocated.
    """
    refuse_pipes(folder)
    refuse_links(folder)
    where, config = str(folder / CONFIG), read_json(folder / CONFIG)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise PolyglanceError(f"{where}: not a model of format {FORMAT}; train it again")
    recipe = check_recipe(config.get("recipe"), where)
    if recipe.image.backbone is None:  # otherwise the network is in the folder
        refuse_foreign_feature(recipe.image.feature, where)
    recipe = located(recipe, folder)
    dim, languages = config.get("feature_dim"), config.get("languages")
    if type(dim) is not int or dim < 1:
        raise PolyglanceError(f"{where}: field 'feature_dim' must be an integer of at least 1")
    if not isinstance(languages, list) or not all(isinstance(one, str) for one in languages):
        raise PolyglanceError(f"{where}: field 'languages' must be a list of codes")
    embedder = load_embedder(recipe, folder)
    if with_weights:
        _check_sizes(recipe, embedder, dim, folder / WEIGHTS)
    data = str(config.get("data", "")).partition(":")[0]  # version 0.1.0 does not have more fields
    drawings = config.get("drawings") is True or data == "generated"
    return recipe, embedder, dim, languages, drawings


def refuse_no_model(folder: Path) -> None:
    """Raise an error if a folder has no model, with the reason if it is known."""
    if has_file(folder / CONFIG):
        return
    for place in (folder, folder.parent):
        if has_file(place / NO_WEIGHTS):
            why = (place / NO_WEIGHTS).read_text(encoding="utf-8", errors="replace").strip()
            raise PolyglanceError(f"{folder}: no model; {why}")
    if has_file(folder / "manifest.json"):
        raise PolyglanceError(
            f"{folder}: is an exported model; pass the run that it was made from, with its {CONFIG}"
        )
    if not folder.exists():
        raise PolyglanceError(f"{folder}: no such folder; pass the folder of a run")
    raise PolyglanceError(f"{folder}: not a model, it has no {CONFIG}; pass the folder of a run")


def read_weights(folder: Path, network: nn.Module) -> dict[str, Tensor]:
    """The weights of a folder; an error unless they fit `network`."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = _weights(folder / WEIGHTS)
    try:
        state = {_renamed(name): value for name, value in load_file(path).items()}
    except SafetensorError as error:
        raise _bad_weights(path, str(error)) from None
    _compare({name: tuple(value.shape) for name, value in state.items()}, network, path)
    return state


def write_config(
    folder: Path,
    recipe: Recipe,
    embedder: Embedder,
    feature_dim: int,
    languages: list[str],
    facts: dict[str, Any],
) -> None:
    """Write everything that does not change in training.

    Args:
        folder: of the model.
        recipe: of the model.
        embedder: of the model; it writes its own files.
        feature_dim: dimension of an image feature.
        languages: of the training captions.
        facts: further fields of model.json.
    """
    config = {
        "format": FORMAT,
        "version": __version__,
        "languages": languages,
        "feature_dim": feature_dim,
        "recipe": recipe.model_dump(mode="json"),
        **facts,
    }
    # First, so that a run with further files can be resumed.
    write_json(folder / CONFIG, config)
    embedder.save(folder)


def write_weights(folder: Path, network: nn.Module) -> None:
    """Write the weights, atomically."""
    from safetensors.torch import save

    weights = network.state_dict().items()
    state = {name: value.cpu().contiguous() for name, value in weights}
    with atomic(folder / WEIGHTS) as handle:
        handle.write(save(state, {"format": "pt"}))


def _check_sizes(recipe: Recipe, embedder: Embedder, feature_dim: int, path: Path) -> None:
    """Compare the sizes in the weights file with a network on the meta device."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(_weights(path), framework="pt") as file:
            shapes = {_renamed(k): tuple(file.get_slice(k).get_shape()) for k in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _bad_weights(path, str(error)) from None
    try:
        with torch.device("meta"):
            network = build_network(recipe, feature_dim, embedder)
    except (RuntimeError, TypeError, OverflowError):
        raise _bad_weights(path, f"{CONFIG} has impossible sizes") from None
    _compare(shapes, network, path)


def _compare(shapes: dict[str, tuple[int, ...]], network: nn.Module, path: Path) -> None:
    """Raise an error for the first parameter that is missing, unknown or of the wrong size."""
    wanted: dict[str, Any] = {
        name: tuple(value.shape) for name, value in network.state_dict().items()
    }
    for name in [*wanted, *shapes]:
        if wanted.get(name) != shapes.get(name):
            raise _bad_weights(path, f"{name}: {_size(shapes, name)}, not {_size(wanted, name)}")


def _size(shapes: dict[str, tuple[int, ...]], name: str) -> str:
    return "×".join(map(str, shapes[name])) or "a number" if name in shapes else "missing"


def _bad_weights(path: Path, reason: str) -> PolyglanceError:
    reason = (reason.splitlines() or [""])[-1].strip()
    return PolyglanceError(
        f"{path}: the weights do not fit, or are damaged ({reason}); "
        "copy the whole folder again, or train again"
    )


def _weights(path: Path) -> Path:
    if not has_file(path):
        raise PolyglanceError(
            f"{path}: no weights yet; the training has not reached its first evaluation"
        )
    return path


def _renamed(name: str) -> str:
    """Map names of version 0.1.0, which had a separate layer beside pretrained vectors."""
    return name.replace(".words.spelt.", ".words.")
