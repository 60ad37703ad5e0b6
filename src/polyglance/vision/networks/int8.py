"""EfficientNet-Lite in 8 bits: its ONNX graph quantised with known activation ranges.

The networks were designed for it (no squeeze-and-excitation, ReLU6 instead of swish). The
ranges are included in the package (`int8_ranges.json`, from `benchmarks/int8_ranges.py`), so
that a network is the same on every machine.
"""

import json
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError

LEVELS = 127
"""Of weights, symmetric around 0. Unsigned weights are as slow as float32 (onnxruntime 1.31)."""
LARGEST = 2**30
"""Of biases, in 32 bits."""
STEPS = 255
"""Of activations, which are unsigned."""
Range = tuple[float, float]


def known_ranges(network: str) -> list[Range]:
    """Smallest and largest value of each quantised tensor, in the order of the graph.

    Args:
        network: such as "efficientnet-lite2".
    """
    found = json.loads((files("polyglance.vision.networks") / "int8_ranges.json").read_text())
    if network not in found:
        raise PolyglanceError(
            f"{network}-int8: its activation ranges are unknown; use one of {', '.join(found)}"
        )
    return [(low, high) for low, high in found[network]]


def quantised_tensors(graph: Any) -> list[str]:
    """Names of the tensors to quantise, in the graph's order: its input and the layers' outputs.

    An output bounded by a Clip is quantised after the Clip.
    """
    clipped = {node.input[0]: node.output[0] for node in graph.node if node.op_type == "Clip"}
    layers = [node.output[0] for node in graph.node if node.op_type in ("Conv", "Add")]
    return [graph.input[0].name, *(clipped.get(name, name) for name in layers)]


def quantise(model: bytes, ranges: Sequence[Range]) -> bytes:
    """The graph with 8-bit activations and weights, one scale per filter.

    Values stay float32 between pairs of QuantizeLinear and DequantizeLinear, which onnxruntime
    fuses with the surrounding layers; a runtime that does not gets the same results, slowly.

    Args:
        model: a graph of Conv (padded or not), Clip from 0 upwards, and Add, with float32 weights.
        ranges: of its `quantised_tensors`, in order.
    """
    import onnx

    loaded = onnx.load_from_string(simplified(model))
    names = quantised_tensors(loaded.graph)
    if others := {node.op_type for node in loaded.graph.node} - {"Conv", "Clip", "Add"}:
        raise PolyglanceError(f"int8: cannot quantise the operator {min(others)}")
    if len(names) != len(ranges):
        raise PolyglanceError(
            f"int8: the graph has {len(names)} tensors to quantise, but {len(ranges)} ranges are "
            "known, which belong to another network"
        )
    return _Graph(onnx, loaded, dict(zip(names, ranges, strict=True))).quantised()


def simplified(model: bytes) -> bytes:
    """The graph with constants folded, and padding merged into the following layer."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "simplified.onnx")
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return path.read_bytes()


class _Graph:
    """A graph being quantised."""

    def __init__(self, onnx: Any, model: Any, ranges: dict[str, Range]) -> None:
        self.onnx, self.model, self.graph = onnx, model, model.graph
        self.scales = {name: _scale(*found) for name, found in ranges.items()}
        self.weights = {one.name: onnx.numpy_helper.to_array(one) for one in self.graph.initializer}
        self.nodes: list[Any] = []

    def quantised(self) -> bytes:
        """The quantised graph."""
        graph, made = self.graph, self.onnx.helper.make_node
        clipped = {node.input[0]: node.output[0] for node in graph.node if node.op_type == "Clip"}
        output = graph.output[0].name
        self._round(graph.input[0].name, graph.input[0].name)
        for node in graph.node:
            if node.op_type not in ("Conv", "Add"):
                continue
            # A range that starts at 0 and ends within the Clip's replaces the Clip.
            name = clipped.get(node.output[0], node.output[0])
            inputs = [self._rounded(one) for one in node.input[:2]]
            if node.op_type == "Conv":
                inputs = [inputs[0], *self._filters(node.input[0], *node.input[1:])]
            copy = made(node.op_type, inputs, [f"{name}:exact"], node.name)
            copy.attribute.extend(node.attribute)
            self.nodes.append(copy)
            self._round(f"{name}:exact", name)
        for node in self.nodes:  # the graph's output keeps its name
            node.output[:] = [output if one == f"{output}:wide" else one for one in node.output]
        del graph.node[:], graph.initializer[:]
        graph.node.extend(self.nodes)
        used = {name for node in self.nodes for name in node.input}
        for name in sorted(used & set(self.weights)):
            values = self.weights[name]
            graph.initializer.append(self.onnx.numpy_helper.from_array(values, name))
        self.onnx.checker.check_model(self.model)
        return bytes(self.model.SerializeToString())

    def _rounded(self, name: str) -> str:
        return f"{name}:wide" if name in self.scales else name

    def _round(self, exact: str, name: str) -> None:
        """Add nodes that round `exact` to the steps of `name`, as `name:wide`."""
        scale, zero = self.scales[name]
        self.weights[f"{name}:scale"], self.weights[f"{name}:zero"] = scale, zero
        made, with_scale = self.onnx.helper.make_node, [f"{name}:scale", f"{name}:zero"]
        self.nodes.append(made("QuantizeLinear", [exact, *with_scale], [f"{name}:narrow"]))
        narrow = [f"{name}:narrow", *with_scale]
        self.nodes.append(made("DequantizeLinear", narrow, [f"{name}:wide"]))

    def _filters(self, source: str, weight: str, bias: str) -> list[str]:
        """Quantise weights [F, C, k, k] and bias [F]; names of the dequantised tensors."""
        values, shift = self.weights.pop(weight), self.weights.pop(bias)
        step = self.scales[source][0]
        # The step of a filter near zero must still be able to represent its bias.
        least = np.maximum(np.abs(shift) / (LARGEST * step), np.finfo(np.float32).tiny)
        scale = np.maximum(np.abs(values).max((1, 2, 3)) / LEVELS, least).astype(np.float32)
        self._widened(weight, np.rint(values / scale[:, None, None, None]).astype(np.int8), scale)
        self._widened(bias, np.rint(shift / (scale * step)).astype(np.int32), scale * step)
        return [f"{weight}:wide", f"{bias}:wide"]

    def _widened(self, name: str, narrow: np.ndarray, scale: np.ndarray) -> None:
        parts = {f"{name}:narrow": narrow, f"{name}:scale": scale}
        parts[f"{name}:zero"] = np.zeros(len(scale), narrow.dtype)
        self.weights.update(parts)
        made = self.onnx.helper.make_node
        self.nodes.append(made("DequantizeLinear", list(parts), [f"{name}:wide"], axis=0))


def _scale(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Scale and zero point of unsigned steps from `low` to `high`; 0 is represented exactly."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / STEPS or 1.0)
    return np.asarray(scale), np.asarray(np.rint(-low / scale), np.uint8)
