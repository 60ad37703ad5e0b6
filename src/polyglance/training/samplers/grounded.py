"""Which languages are ranked against images, and which are aligned through captions."""

from collections.abc import Sequence

import numpy as np

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.training.inputs.data import TrainingData


def check_grounded(grounded: Sequence[str] | None, c2c: float, data: TrainingData) -> None:
    """Raise if a language is unknown, or would not be trained at all.

    Args:
        grounded: languages ranked against images; None is all.
        c2c: share or weight of captions ranked against captions; 0 is none.
        data: the training data.
    """
    if grounded is None:
        return
    codes = sorted(set(data.languages))
    for code in grounded:
        if code not in codes:
            raise PolyglanceError(
                f"sampling.grounded: '{code}' is not a training language{nearest(code, codes)}"
            )
    rest = [code for code in codes if code not in grounded]
    if rest and not c2c:
        raise PolyglanceError(
            f"sampling.grounded leaves out {', '.join(rest)}, which would not be trained at all: "
            "also rank captions against captions (sampling.c2c or c2c_weight), or set "
            "data.languages"
        )


def grounded_rows(grounded: Sequence[str] | None, data: TrainingData) -> np.ndarray:
    """Which captions with images are ranked against them: [data.grounded] bool."""
    if grounded is None:
        return np.ones(data.grounded, bool)
    return np.isin(np.array(data.languages[: data.grounded]), list(grounded))
