"""Export of torch modules to ONNX, each verified against the original."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError

OPSET = 17
TOLERANCE = 1e-4
"""Largest difference between a graph and its module; whole models are tested to 1e-5."""
Axes = Mapping[str, Mapping[int, str]]
"""Input → its dynamic axes and their names."""


def to_onnx(
    name: str,
    module: nn.Module,
    examples: Sequence[Mapping[str, Tensor]],
    axes: Axes,
    tolerance: float = TOLERANCE,
) -> bytes:
    """Export a module with one output to ONNX; raise if a part cannot be exported.

    Args:
        name: of the module, for error messages.
        module: to export, in evaluation mode.
        examples: inputs by name, in the order of the module's arguments: the first is traced, and
            the results of all are compared; they should differ in every dynamic size.
        axes: dynamic axes.
        tolerance: largest difference of the results.
    """
    try:
        with warnings.catch_warnings(), torch.no_grad(), TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")  # about shapes that the trace treats as constant
            path = Path(folder, "graph.onnx")
            torch.onnx.export(
                module.eval(),
                tuple(examples[0].values()),
                path,
                dynamo=False,
                opset_version=OPSET,
                input_names=list(examples[0]),
                output_names=["output"],
                dynamic_axes={**{k: dict(v) for k, v in axes.items()}, "output": {0: "batch"}},
            )
            model = path.read_bytes()
        worst = max(_difference(module, model, example) for example in examples)
    except ImportError:
        raise
    except Exception as error:  # torch and onnxruntime raise many types
        reason = (str(error).strip().splitlines() or [""])[0]
        raise PolyglanceError(f"{name}: has a part that ONNX cannot express ({reason})") from None
    if not worst < tolerance:
        raise PolyglanceError(
            f"{name}: has a part whose export differs by {worst:g} from the model's own results"
        )
    return model


def _difference(module: nn.Module, model: bytes, example: Mapping[str, Tensor]) -> float:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    taken = {one.name for one in session.get_inputs()}
    inputs = {key: value.numpy() for key, value in example.items() if key in taken}
    with torch.no_grad():
        expected = module(*example.values()).numpy()
    found = session.run(None, inputs)[0]
    if found.shape != expected.shape:
        return np.inf
    return float(np.abs(found - expected).max())
