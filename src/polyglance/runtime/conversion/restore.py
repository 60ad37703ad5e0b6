"""Restores a trainable model from an exported one."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import check_recipe
from polyglance.recipes.schema import Recipe
from polyglance.runtime.conversion.initializers import Sizes, graph_weights
from polyglance.runtime.encoding.sentence import SentenceSide
from polyglance.runtime.manifest import FILE, Manifest, SentenceFiles
from polyglance.runtime.model import ExportedModel, load
from polyglance.text.encoders import SentenceTower
from polyglance.vision.extraction.features import parse_feature
from polyglance.vision.networks.onnx_network import network_name

LEVELS = 255
SHARED = 0.1
"""Share of rows with the same step from which this is assumed to be the table's step."""
ALIKE = 0.99
"""Least cosine similarity to the export's embeddings; rounding leaves 0.999."""
PROBES = ("a dog runs in the snow", "zwei Kinder", "犬", "x")


def restore(folder: str | Path) -> Model:
    """The trainable model of a folder written by `polyglance export`.

    Its weights are those of the export, at their stored precision, and its embeddings are checked
    against the export's. Only sentence encoders can be restored; exports of other models contain
    word vectors but not the parameters behind them, and are an error.

    Args:
        folder: of the exported model.
    """
    source = load(folder)
    files, side = source.manifest.towers.get(""), source.towers.get("")
    if not isinstance(files, SentenceFiles) or not isinstance(side, SentenceSide):
        kind = source.recipe.text.encoder.kind
        raise _cannot_train(
            source, f"an export of text.encoder.kind={kind} does not contain all weights"
        )
    manifest = source.manifest
    recipe = restored_recipe(source.folder, manifest)
    model = Model(
        recipe, source.embedder, manifest.feature_dim, manifest.languages, manifest.drawings
    )
    wanted = model.network.state_dict()
    sizes: Sizes = {name: tuple(value.shape) for name, value in wanted.items()}
    found = _tables(side, model)
    for name in (files.text, *manifest.images.values()):
        found |= {
            key: torch.from_numpy(value.copy())
            for key, value in graph_weights(source.folder / name, sizes).items()
        }
    if missing := [name for name in sizes if name not in found]:
        raise _cannot_train(source, f"'{missing[0]}' is missing from its graphs")
    model.network.load_state_dict(found)
    _compare(source, model)
    return model


def restored_recipe(folder: Path, manifest: Manifest) -> Recipe:
    """The recipe of an exported model, for training it further.

    An image network that was trained in the tower, or whose preprocessing has changed since
    training, is taken from the export, frozen.

    Args:
        folder: of the exported model.
        manifest: its manifest.
    """
    recipe = check_recipe(manifest.recipe, str(folder / FILE))
    prepared = manifest.preparation
    if prepared is None or not (manifest.trained_backbone or prepared.whole):
        return recipe
    form = parse_feature(recipe.image.feature)[1]
    changed = {"backbone": None, "feature": f"{network_name(folder)}/{form}"}
    return recipe.model_copy(update={"image": recipe.image.model_copy(update=changed)})


def _tables(side: SentenceSide, model: Model) -> dict[str, Tensor]:
    """The parameters stored in tables, by name."""
    tower = model.network.text
    assert isinstance(tower, SentenceTower)
    table, pieces = tower.encoder.pieces, side.pieces
    rows = np.zeros(tuple(table.rows.shape), np.uint8)
    parts = len(table.scale)
    scales, lows = np.ones((2, parts), np.float32)
    for part in range(parts):
        own = np.flatnonzero(side.ids % parts == part)
        if len(own):
            steps = None if pieces.step is None or pieces.step.shape[1] > 1 else pieces.step[own, 0]
            codes, lows[part], scales[part] = on_lattice(pieces(own), steps)
            rows[side.ids[own]] = codes
    found = {"rows": rows, "scale": scales, "low": lows}
    state = {f"text.encoder.pieces.{name}": torch.from_numpy(v) for name, v in found.items()}
    if side.words is not None:
        state["text.words.weight"] = torch.from_numpy(side.words(np.arange(len(side.words))))
    return state


def on_lattice(
    values: np.ndarray, steps: np.ndarray | None = None
) -> tuple[np.ndarray, np.float32, np.float32]:
    """Values [n, D] as byte codes, low and step: low + code · step.

    Pieces were stored in bytes before the export, and most rows stored in four bits are still
    multiples of the same step: then the original codes are recovered. Other values are rounded.

    Args:
        values: [n, D].
        steps: [n], of the rows as stored, if any.
    """
    lowest, highest = float(values.min()), float(values.max())
    if steps is not None:
        distinct, counts = np.unique(steps, return_counts=True)
        step = float(distinct[counts.argmax()])
        if step > 0 and counts.max() >= SHARED * len(steps):
            # A row on the lattice determines the position of its points.
            first = float(values[int(np.argmax(steps == distinct[counts.argmax()]))].min())
            low = first - round((first - lowest) / step) * step
            if round((highest - low) / step) <= LEVELS:
                return _codes(values, low, step)
    return _codes(values, lowest, (highest - lowest) / LEVELS or 1.0)


def _codes(
    values: np.ndarray, low: float, step: float
) -> tuple[np.ndarray, np.float32, np.float32]:
    codes = np.clip(np.rint((values - low) / step), 0, LEVELS).astype(np.uint8)
    return codes, np.float32(low), np.float32(step)


def _compare(source: ExportedModel, model: Model) -> None:
    """Compare embeddings, to detect weights assigned to the wrong parameter."""
    features = np.random.default_rng(0).normal(size=(4, model.feature_dim)).astype(np.float32)
    tokens = model.tokens(PROBES)
    with torch.inference_mode():
        images = model.network.embed_images(torch.from_numpy(features)).numpy()
    own = np.concatenate([model.encode_tokens(tokens), images])
    exported = np.concatenate([source.encode_tokens(tokens), source.encode_features(features)])
    lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(exported, axis=1)
    if not ((own * exported).sum(1) >= ALIKE * lengths).all():
        raise _cannot_train(source, "the weights in its graphs do not reproduce its embeddings")


def _cannot_train(source: ExportedModel, reason: str) -> PolyglanceError:
    return PolyglanceError(
        f"{source.folder / FILE}: cannot be trained: {reason}; use the folder of the run that "
        "was exported"
    )
