"""The image network of an exported model as a backbone: `onnx:base@DIGEST`, `onnx:FILE@DIGEST`.

A model that was trained with its image network is fine-tuned with that network frozen, and
exported again with the same file.
"""

from pathlib import Path

import numpy as np

from polyglance.core.shipped import BASE, shipped_folder
from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import Device
from polyglance.storage.digest import file_digest
from polyglance.storage.files import has_file, read_json
from polyglance.vision.networks.backbones import FAMILIES, BackboneOutput
from polyglance.vision.networks.lite import Network, session
from polyglance.vision.networks.preprocess import CentreAndWhole, Preprocessing

FAMILY, FILE, SETTINGS = "onnx", "backbone.onnx", "backbone.json"
DIGITS = 12


class OnnxBackbone:
    """A network run by onnxruntime; the JSON file beside it has its preprocessing."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path = path
        self.preprocessing = read_preprocessing(path.with_suffix(".json"))
        self.identity = f"{FAMILY}-{digest}-{'whole' if self.preprocessing.whole else 'centre'}"
        self._network: Network | None = None

    def dims(self) -> tuple[int, int]:
        """Determined by one pass over an empty image."""
        pooled, grid = self(np.zeros((1, *self.preprocessing.shape), np.float32))
        return pooled.shape[1], 0 if grid is None else grid.shape[3]

    def at_size(self, size: int) -> "OnnxBackbone":
        """Return self: the graph takes one size, and raises an error for any other."""
        return self

    def to(self, device: Device) -> "OnnxBackbone":
        """Return self: it runs on the CPU."""
        return self

    def classifier(self) -> None:
        """None: the graph does not include it."""

    def to_onnx(self) -> bytes:
        """The content of the ONNX file."""
        return self.path.read_bytes()

    def __call__(self, pixels: np.ndarray) -> BackboneOutput:
        """Encode float32 [b, 3, size, size], or [b, V, 3, size, size], averaging over V."""
        if self._network is None:
            self._network = session(self.to_onnx())
        grid = self._network(pixels.reshape(-1, *pixels.shape[-3:]))  # [b·V, F, side, side]
        pooled = grid.mean((2, 3))
        if pixels.ndim == 4:
            return BackboneOutput(pooled, grid.transpose(0, 2, 3, 1))
        return BackboneOutput(pooled.reshape(*pixels.shape[:2], -1).mean(1), None)


def open_onnx(rest: str) -> OnnxBackbone:
    """The network `base@DIGEST` or `FILE@DIGEST`; a different digest is an error."""
    name, _, digest = rest.rpartition("@")
    path = shipped_folder() / FILE if name == BASE else Path(name).expanduser()
    if not has_file(path):
        raise PolyglanceError(f"onnx:{rest}: no such file {path}; put the exported model back")
    if not digest or file_digest(path)[: len(digest)] != digest:
        raise PolyglanceError(
            f"onnx:{rest}: {path} is not the network that the model was trained with; "
            "install the version of polyglance that it came from, or train again with --from"
        )
    return OnnxBackbone(path, digest)


FAMILIES.register(FAMILY)(open_onnx)


def network_name(folder: Path) -> str:
    """The extractor name for the network of the exported model in a folder."""
    path = folder / FILE
    place = BASE if folder.absolute() == shipped_folder().absolute() else str(path.absolute())
    return f"{FAMILY}:{place}@{file_digest(path)[:DIGITS]}"


def read_preprocessing(path: Path) -> Preprocessing:
    """The preprocessing of an exported network; a file without it is an error."""
    given = read_json(path)
    try:
        kind = CentreAndWhole if given.pop("whole") else Preprocessing
        mean, std = (tuple(map(float, given.pop(name))) for name in ("mean", "std"))
        return kind(mean=mean, std=std, **given)  # type: ignore[arg-type]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PolyglanceError(
            f"{path}: cannot read the preprocessing ({error}); export the model again"
        ) from None
