"""Recovers a network's parameters from the ONNX graphs it was exported to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError, needed_by

PREFIX = "network."
"""Prefix of parameter names in a graph; matrices of products without bias have numbers."""
Sizes = Mapping[str, tuple[int, ...]]


def graph_weights(path: Path, sizes: Sizes) -> dict[str, np.ndarray]:
    """The parameters in a graph, converted to float32, by their names in the network.

    A matrix whose name was lost (and which is then transposed) is identified by the layer of its
    product; one that could be several parameters is left out.

    Args:
        path: of the graph.
        sizes: of the network's parameters, by name.
    """
    with needed_by("reading an exported model's weights"):
        import onnx
    try:
        graph = onnx.load_from_string(path.read_bytes()).graph
        stored = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    except Exception as error:  # protobuf's classes have no common base
        reason = (str(error).splitlines() or [""])[0]
        raise PolyglanceError(f"{path}: not an ONNX graph ({reason}); export again") from None
    found = _widened(stored)
    for node in graph.node:  # equal tensors are stored once
        if node.op_type == "Identity" and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    named = {name.removeprefix(PREFIX): value for name, value in found.items()}
    result = {name: named[name] for name in sizes if name in named}
    products = _products(graph, found)
    for exact in (True, False):
        for scope in list(products):
            name = _layer(scope, products[scope].T, sizes, result, exact)
            if name is not None:
                result[name] = products.pop(scope).T
    return {
        name: np.ascontiguousarray(value)
        for name, value in result.items()
        if value.shape == sizes[name]
    }


def _widened(stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Initializers by their names before `precision.store_as`."""
    found = {}
    for name, value in stored.items():
        plain, _, part = name.rpartition(":")
        if part == "stored":
            scale = stored.get(f"{plain}:scale", np.float32(1))
            found[plain] = value.astype(np.float32) * scale
        elif part != "scale":
            found[name] = value
    return found


def _products(graph: Any, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Unnamed matrices, by the path of their product's node."""
    return {
        node.name: found[node.input[1]]
        for node in graph.node
        if node.op_type == "MatMul"
        and node.input[1] in found
        and not node.input[1].startswith(PREFIX)
    }


def _layer(
    scope: str, matrix: np.ndarray, sizes: Sizes, known: Mapping[str, Any], exact: bool
) -> str | None:
    """The parameter that a matrix must be, if only one is possible.

    Args:
        scope: the node's path, such as /dense/first/MatMul.
        matrix: in the parameter's orientation.
        sizes: of the network's parameters.
        known: parameters already found.
        exact: whether the parameter belongs to the layer itself, or to one inside.
    """
    inside = "." + ".".join(scope.strip("/").split("/")[:-1]) + "."
    places = {name: f".{name.rpartition('.')[0]}." for name in sizes if name not in known}
    fitting = [
        name
        for name, place in places.items()
        if sizes[name] == matrix.shape and (place.endswith(inside) if exact else inside in place)
    ]
    return fitting[0] if len(fitting) == 1 else None
