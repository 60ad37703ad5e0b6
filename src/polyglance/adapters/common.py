"""What all adapters share: a model, and texts of any kind as vectors."""

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
    """The model of a place, or the model itself; one without single vectors is an error."""
    found = open_model(model) if isinstance(model, str | Path | None) else model
    if found.attends:
        raise PolyglanceError(
            "this model compares sets of vectors, and other packages take one vector for a text"
        )
    return found


def vectors(
    model: "Model | ExportedModel", texts: Sequence[str], batch_size: int = 256
) -> np.ndarray:
    """Embeddings [n, D]; of a text without any word, such as an empty one, zeros.

    Args:
        model: that encodes.
        texts: of any kind, as a benchmark has them.
        batch_size: texts that the network sees at a time.
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
