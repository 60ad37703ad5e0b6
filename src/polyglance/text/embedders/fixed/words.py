"""The words of a language with fixed vectors."""

from dataclasses import dataclass

import numpy as np

from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.word_vectors import normalise_rows


def prepare_vectors(vectors: np.ndarray, mean: np.ndarray | None) -> np.ndarray:
    """Raw vectors [n, D] scaled to length 1, and centred by `mean` [D] where there is one."""
    rows = normalise_rows(vectors)
    return rows if mean is None else normalise_rows(rows - mean)


@dataclass(frozen=True)
class LanguageWords:
    """The words of a language that a model knows, with vectors [n, D] of length 1.

    With `subwords`, fastText's .bin in `file`, any other word has a vector, too. `mean` [D] is
    what vectors were centred by. `translated` says whether the language has a translator.
    """

    words: list[str]
    matrix: np.ndarray
    mean: np.ndarray | None = None
    subwords: SubwordVectors | None = None
    file: str | None = None
    translated: bool = False
