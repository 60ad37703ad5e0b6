"""The model that a new library is made with."""

from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError


def model_or_shipped(model: Path | None) -> Any:
    """The folder of a model, or the model that is shipped where none is named."""
    if model is not None:
        return model
    raise PolyglanceError(
        "no model is named; give --model FOLDER, which 'polyglance export RUN --onnx FOLDER' writes"
    )
