"""Weights of an ONNX graph stored in fewer bits."""

from typing import Any

import numpy as np

from polyglance.runtime.manifest import Precision

SMALLEST = 256
"""Smaller tensors, and vectors, are not quantised: biases, norms, scales."""
LARGEST = float(np.finfo(np.float16).max)
LEVELS = 127


def store_as(model: bytes, precision: Precision) -> bytes:
    """The same graph with its weights in fp16, or in int8 with a scale per row.

    Computation stays in float32: onnxruntime converts the weights once, when it loads the graph,
    but the rows of a word table only when they are looked up, so that a large vocabulary is also
    small in memory.

    Args:
        model: the graph, with float32 weights.
        precision: fp32 changes nothing.
    """
    if precision == "fp32":
        return model
    import onnx

    loaded = onnx.load_from_string(model)
    graph = loaded.graph
    first, last = [], []
    for weight in [one for one in graph.initializer if _is_weight(onnx, one)]:
        values, name = onnx.numpy_helper.to_array(weight), weight.name
        graph.initializer.remove(weight)
        users = [node for node in graph.node if name in node.input]
        parts = _narrow(values, precision, any(node.op_type == "Conv" for node in users))
        for suffix, part in parts.items():
            graph.initializer.append(onnx.numpy_helper.from_array(part, name + suffix))
        if all(_looks_up(node, name) for node in users):
            for node in users:
                last.append((node.output[0], _widen_rows(onnx, node, name, list(parts))))
        else:
            first += _widen(onnx, [name + suffix for suffix in parts], name)
    nodes = list(first)
    after = dict(last)
    for node in graph.node:
        found = after.get(node.output[0].removesuffix(":stored"))
        nodes += [node, *(found or [])]
    del graph.node[:]
    graph.node.extend(nodes)
    return loaded.SerializeToString()


def _is_weight(onnx: Any, tensor: Any) -> bool:
    size = int(np.prod(tensor.dims))
    wide = tensor.data_type == onnx.TensorProto.FLOAT
    if not wide or len(tensor.dims) < 2 or size < SMALLEST:
        return False
    return bool((np.abs(onnx.numpy_helper.to_array(tensor)) <= LARGEST).all())


def _narrow(values: np.ndarray, precision: Precision, filters: bool) -> dict[str, np.ndarray]:
    """The stored tensors of a weight, by suffix; filters have one scale each, instead of rows."""
    if precision == "fp16":
        return {":stored": values.astype(np.float16)}
    axes = tuple(range(1, values.ndim)) if filters else -1
    scale = np.abs(values).max(axes, keepdims=True) / LEVELS
    scale = np.where(scale == 0, 1, scale).astype(np.float32)
    return {":stored": np.rint(values / scale).astype(np.int8), ":scale": scale}


def _looks_up(node: Any, name: str) -> bool:
    axes = [one.i for one in node.attribute if one.name == "axis"]
    return node.op_type == "Gather" and node.input[0] == name and axes in ([], [0])


def _widen(onnx: Any, stored: list[str], name: str) -> list[Any]:
    """Nodes that convert the stored tensors to float32 weights called `name`."""
    make, to = onnx.helper.make_node, onnx.TensorProto.FLOAT
    if len(stored) == 1:
        return [make("Cast", stored, [name], to=to)]
    cast = make("Cast", stored[:1], [name + ":wide"], to=to)
    return [cast, make("Mul", [name + ":wide", stored[1]], [name])]


def _widen_rows(onnx: Any, node: Any, name: str, suffixes: list[str]) -> list[Any]:
    """The nodes to insert after a lookup, which now returns stored rows."""
    output = node.output[0]
    node.input[0], node.output[0] = name + ":stored", output + ":stored"
    found, parts = [], [output + ":stored"]
    if ":scale" in suffixes:
        parts.append(output + ":scale")
        rows = [name + ":scale", node.input[1]]
        found.append(onnx.helper.make_node("Gather", rows, parts[1:], axis=0))
    return found + _widen(onnx, parts, output)
