"""An ONNX graph run by onnxruntime."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


class Graph:
    """A graph with one output, loaded at the first run.

    It may be run from several threads at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session: Any = None

    def __call__(self, **inputs: np.ndarray) -> np.ndarray:
        """The output for inputs by name; inputs that the graph does not have are ignored."""
        if self._session is None:
            self._session = _open(self.path)
        types = {one.name: TYPES[one.type] for one in self._session.get_inputs()}
        arrays = {name: np.ascontiguousarray(inputs[name], kind) for name, kind in types.items()}
        return self._session.run(None, arrays)[0]


def _open(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            path.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's own classes have no common base
        reason = (str(error).splitlines() or [""])[0]
        raise PolyglanceError(f"{path}: onnxruntime cannot read it ({reason})") from None
