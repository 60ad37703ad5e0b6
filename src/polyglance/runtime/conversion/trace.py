"""torch modules as ONNX, each compared with what it was made of."""

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
"""Largest difference of a graph from its module; the tests hold whole models to 1e-5."""
Axes = Mapping[str, Mapping[int, str]]
"""Input → the axes whose sizes are free, and what they are called."""


def to_onnx(
    name: str,
    module: nn.Module,
    examples: Sequence[Mapping[str, Tensor]],
    axes: Axes,
    tolerance: float = TOLERANCE,
) -> bytes:
    """A module as ONNX with one output; parts that cannot be exported are an error.

    Args:
        name: of the module, for the error.
        module: what is exported, in evaluation mode.
        examples: inputs by name, in the order that the module takes them: the first is traced,
            and of all of them, which should differ in every free size, the results are compared.
        axes: free sizes.
        tolerance: largest difference of the results.
    """
    try:
        with warnings.catch_warnings(), torch.no_grad(), TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")  # of shapes that the trace takes to be constant
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
    except Exception as error:  # torch and onnxruntime have many for what they do not know
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
    given = {key: value.numpy() for key, value in example.items() if key in taken}
    with torch.no_grad():
        expected = module(*example.values()).numpy()
    found = session.run(None, given)[0]
    if found.shape != expected.shape:
        return np.inf
    return float(np.abs(found - expected).max())
