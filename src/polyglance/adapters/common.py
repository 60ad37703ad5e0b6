"""Code that all adapters share: opening a model, and encoding texts as vectors."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.runtime import ExportedModel, open_model

if TYPE_CHECKING:
    from polyglance.models import Model


def opened(model: "Model | ExportedModel | str | Path | None") -> "Model | ExportedModel":
    """Load a model if a path is passed; a model without single-vector embeddings is an error."""
    found = open_model(model) if isinstance(model, str | Path | None) else model
    if found.attends:
        raise PolyglanceError(
            "this model compares sets of vectors, but other packages need one vector per text"
        )
    return found


def vectors(
    model: "Model | ExportedModel", texts: Sequence[str], batch_size: int = 256
) -> np.ndarray:
    """Embeddings [n, D]; zeros for a text without words, such as an empty one.

    Args:
        model: the model that encodes.
        texts: any texts; a benchmark's may be empty.
        batch_size: texts per forward pass.
    """
    result = np.zeros((len(texts), model.dim), np.float32)
    rows = [i for i, (words, _) in enumerate(model.embedder.read(texts, None)) if words]
    if rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolyglanceWarning)
            result[rows] = model.encode_text(
                [texts[i] for i in rows], batch_size=batch_size, show_progress=False
            )
    return result
