"""Saves CLC-C weights in the model's folder, for search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.evaluation.translations.consistency import Consistency
from polyglance.evaluation.translations.literal_consistency import LiteralConsistency
from polyglance.storage.files import has_file, read_json, write_json

FILE = "consistency.json"

Weights = Consistency | LiteralConsistency


@dataclass(frozen=True)
class SavedWeights:
    """`weights` by query language, for scores in `targets`, translated by `translator`."""

    targets: list[str]
    translator: str
    weights: dict[str, Weights]


def write_weights(
    folder: Path, targets: Sequence[str], translator: str, weights: Mapping[str, Weights]
) -> Path:
    """Write the weights into a model's folder, and return the file.

    Args:
        folder: of the model.
        targets: the languages whose scores are combined, in order.
        translator: name of the translator of the captions they were learned from.
        weights: by query language.
    """
    shown = {
        code: {"first": own.first.tolist(), "shift": own.shift}
        | ({"second": own.second.tolist()} if isinstance(own, LiteralConsistency) else {})
        for code, own in weights.items()
    }
    path = folder / FILE
    write_json(path, {"targets": list(targets), "translator": translator, "weights": shown})
    return path


def read_weights(folder: Path) -> SavedWeights | None:
    """The weights in a model's folder, or None."""
    path = folder / FILE
    if not has_file(path):
        return None
    value = read_json(path)
    try:
        targets, translator = list(value["targets"]), str(value["translator"])
        weights = {code: _weights(own, len(targets)) for code, own in value["weights"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PolyglanceError(
            f"{path}: not weights of CLC-C ({error}); remove it, or write it again with "
            "'polyglance evaluate … --consistency learned --keep-weights'"
        ) from None
    return SavedWeights(targets, translator, weights)


def _weights(value: dict[str, Any], languages: int) -> Weights:
    first, shift = np.asarray(value["first"], np.float32), float(value["shift"])
    second = np.asarray(value["second"], np.float32) if "second" in value else None
    wanted = (languages,) if second is None else (len(second), languages)
    if first.shape != wanted:
        raise ValueError(f"weights of shape {first.shape} for {languages} languages")
    if not all(np.isfinite(part).all() for part in (first, shift, second) if part is not None):
        raise ValueError("weights that are not finite")
    return Consistency(first, shift) if second is None else LiteralConsistency(first, second, shift)
