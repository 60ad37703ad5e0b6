"""Networks from timm, torchvision and transformers, if these and the weights are installed."""

import importlib
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.core.packages import SAFELY, import_package, quiet
from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import CPU, Device, choose_device
from polyglance.storage.digest import Part, short_digest
from polyglance.storage.files import read_json
from polyglance.vision.networks.backbones import FAMILIES, BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing

TorchOutput = tuple[Any, Any]
"""torch tensors: (pooled [b, d] or None, map [b, c, h, w] or tokens [b, n, d])"""


class TorchBackbone:
    """Any torch network in evaluation mode; `identity` contains a hash of its weights.

    Args:
        name: for the identity.
        module: the network.
        preprocessing: of its images.
        run: from pixels [b, 3, size, size] to pooled vectors and grids.
        unused: suffixes of parameters that do not change the output, left out of the hash.
    """

    def __init__(
        self,
        name: str,
        module: Any,
        preprocessing: Preprocessing,
        run: Callable[[Any], TorchOutput],
        unused: Collection[str] = (),
    ) -> None:
        self.module, self.preprocessing, self._run = module.eval(), preprocessing, run
        self.identity = f"{slug(name)}-{fingerprint(module, preprocessing, unused)}"
        self._dims: tuple[int, int] | None = None
        self.device = choose_device(CPU)

    def dims(self) -> tuple[int, int]:
        """Determined by one pass over an empty image."""
        if self._dims is None:
            size = self.preprocessing.size
            pooled, grid = self(np.zeros((1, 3, size, size), np.float32))
            self._dims = pooled.shape[1], 0 if grid is None else grid.shape[3]
        return self._dims

    def at_size(self, size: int) -> "TorchBackbone":
        """Return self: convolutional networks take any size, others raise an error."""
        return self

    def to(self, device: Device) -> "TorchBackbone":
        """The network on a device."""
        self.device = choose_device(device)
        self.module.to(self.device)
        return self

    def classifier(self) -> tuple[np.ndarray, np.ndarray] | None:
        """None: these networks have no common name for the layer."""
        return None

    def __call__(self, pixels: np.ndarray) -> BackboneOutput:
        """Encode float32 [b, 3, size, size]."""
        import torch

        with torch.inference_mode():
            pooled, features = self._run(torch.from_numpy(pixels).to(self.device))
        return as_output(pooled, features)


def _name_and_weights(family: str, rest: str) -> tuple[str, Path | None]:
    """Split NAME or NAME@FILE."""
    name, _, weights = rest.partition("@")
    path = Path(weights).expanduser() if weights else None
    if path is not None and not path.is_file():
        raise PolyglanceError(f"{family}:{name}: no such weights file {path}")
    return name, path


def as_output(pooled: Any, features: Any) -> BackboneOutput:
    """A map [b, c, h, w] or tokens [b, n, d] as pooled vectors and a grid [b, h, w, d].

    Tokens beyond the largest square are prefix tokens; the first of them is the class token, used
    as the pooled vector. Without one, and for maps, it is the mean over the grid.
    """
    if features.ndim == 4:
        grid = features.permute(0, 2, 3, 1)
        pooled = grid.mean((1, 2)) if pooled is None else pooled
    else:
        side = math.isqrt(features.shape[1])
        prefix = features.shape[1] - side * side
        grid = features[:, prefix:].reshape(len(features), side, side, -1)
        if pooled is None:
            pooled = features[:, 0] if prefix else features.mean(1)
    return BackboneOutput(pooled.float().cpu().numpy(), grid.float().cpu().numpy())


def fingerprint(module: Any, preprocessing: Preprocessing, unused: Collection[str] = ()) -> str:
    """A digest of the preprocessing and the parameters; each digest has its own store.

    Args:
        module: the image network.
        preprocessing: of its input.
        unused: names of parameters to leave out, matched by suffix.
    """

    def parts() -> Iterator[Part]:
        yield repr(preprocessing)
        for name, tensor in module.state_dict().items():
            if not any(key.endswith(name) for key in unused):
                yield name
                yield tensor.detach().cpu().contiguous().float().numpy()

    return short_digest(parts(), 6).hex()


def slug(name: str) -> str:
    """A name that is safe as a folder name.

    >>> slug("timm:vit_tiny@/x/y.bin")
    'timm-vit_tiny'
    """
    head, _, tail = name.partition(":")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{head}-{Path(tail.partition('@')[0]).name}")


def blank_network(extractor: str) -> Any:
    """The torch module of `torchvision:NAME[@FILE]` or `timm:NAME[@FILE]` with random weights.

    Nothing is read or downloaded.
    """
    family, _, rest = extractor.partition(":")
    name = rest.partition("@")[0]
    if family not in ("torchvision", "timm") or re.search(r"[/:\\]", name):
        raise PolyglanceError(
            f"image.backbone: '{family}:{name}' cannot be trained; use EfficientNet-Lite, or "
            "a network of torchvision: or timm: by its name"
        )
    if family == "timm":
        timm = import_package("timm")
        return _loading(extractor, lambda: timm.create_model(name, pretrained=False, num_classes=0))
    models = import_package("torchvision", "torchvision.models")
    return _loading(extractor, lambda: models.get_model(name, weights=None))


def open_external(extractor: str) -> TorchBackbone:
    """The network of `torchvision:NAME[@FILE]` or `timm:NAME[@FILE]` with its weights."""
    family, _, rest = extractor.partition(":")
    found = (open_timm if family == "timm" else open_torchvision)(rest)
    assert isinstance(found, TorchBackbone)
    return found


def file_preprocessing(extractor: str) -> Preprocessing:
    """The preprocessing for the weights of an extractor."""
    return open_external(extractor).preprocessing


def _own_preprocessing(weights: Path | None, known: Preprocessing) -> Preprocessing:
    """The preprocessing in WEIGHTS.json beside a weights file; else that of the network.

    Args:
        weights: the user's file.
        known: preprocessing of the network's published weights.
    """
    path = None if weights is None else weights.with_suffix(".json")
    if path is None or not path.is_file():
        return known
    value = read_json(path)
    names = {"size", "crop", "mean", "std", "interpolation", "squash"}
    try:
        if not isinstance(value, dict) or (unknown := set(value) - names):
            raise ValueError(f"unknown field '{min(unknown)}'" if isinstance(value, dict) else "")
        given = {name: _pixels(value[name]) for name in ("mean", "std") if name in value}
        if "interpolation" in value and _interpolation(value["interpolation"]) != value.get(
            "interpolation"
        ):
            raise ValueError(f"unknown interpolation '{value['interpolation']}'")
        found = replace(known, **{**value, **given})
        if not (int(found.size) >= 1 and 0 < float(found.crop) <= 1):
            raise ValueError("size must be 1 or more, and crop above 0 and at most 1")
    except (TypeError, ValueError) as error:
        raise PolyglanceError(
            f"{path}: cannot read the preprocessing ({error}); its fields are size, crop, mean and "
            "std (of pixels from 0 to 1), interpolation and squash"
        ) from None
    return found


@FAMILIES.register("timm")
def open_timm(rest: str) -> TorchBackbone:
    """A timm network: NAME, or NAME@FILE with the weights."""
    name, weights = _name_and_weights("timm", rest)
    timm = import_package("timm")
    overlay = {"file": str(weights)} if weights else None
    module = _loading(
        f"timm:{name}",
        lambda: timm.create_model(
            name, pretrained=True, num_classes=0, pretrained_cfg_overlay=overlay
        ),
    )
    data = importlib.import_module("timm.data").resolve_model_data_config(module)
    preprocessing = Preprocessing(
        size=int(data["input_size"][-1]),
        crop=float(data["crop_pct"]),
        mean=_pixels(data["mean"]),
        std=_pixels(data["std"]),
        interpolation=_interpolation(data["interpolation"]),
        squash=data.get("crop_mode") == "squash",
    )
    preprocessing = _own_preprocessing(weights, preprocessing)

    def run(pixels: Any) -> TorchOutput:
        features = module.forward_features(pixels)
        pooled = module.forward_head(features, pre_logits=True)
        if features.ndim == 4 and getattr(module, "output_fmt", "NCHW") == "NHWC":
            features = features.permute(0, 3, 1, 2)
        elif features.ndim == 3:
            features = features[:, getattr(module, "num_prefix_tokens", 0) :]
        return pooled, features

    return TorchBackbone(f"timm:{name}", module, preprocessing, run)


@FAMILIES.register("torchvision")
def open_torchvision(rest: str) -> TorchBackbone:
    """A torchvision classifier: NAME, or NAME@FILE with the weights."""
    name, weights = _name_and_weights("torchvision", rest)
    models = import_package("torchvision", "torchvision.models")

    def load() -> Any:
        if weights is None:
            return models.get_model(name, weights="DEFAULT")
        module = models.get_model(name, weights=None)
        module.load_state_dict(_state(weights))
        return module

    module = _loading(f"torchvision:{name}", load)
    preset = _published(models.get_model_weights(name), weights).transforms()
    size, resize = _first(preset.crop_size), _first(preset.resize_size)
    interpolation = _interpolation(getattr(preset.interpolation, "value", preset.interpolation))
    preprocessing = Preprocessing(
        size, size / resize, _pixels(preset.mean), _pixels(preset.std), interpolation
    )
    preprocessing = _own_preprocessing(weights, preprocessing)
    seen: list[Any] = []
    for child in module.children():
        child.register_forward_hook(lambda _module, _inputs, output: seen.append(output))

    def run(pixels: Any) -> TorchOutput:
        seen.clear()
        module(pixels)
        maps = [one for one in seen if _is_map(one)]
        seen.clear()
        if not maps:
            raise PolyglanceError(f"torchvision:{name}: found no feature map; is it a classifier?")
        return None, maps[-1]

    return TorchBackbone(f"torchvision:{name}", module, preprocessing, run)


@FAMILIES.register("transformers")
def open_transformers(rest: str) -> TorchBackbone:
    """A transformers model in a local folder."""
    folder = Path(rest).expanduser()
    if not (folder / "config.json").is_file():
        raise PolyglanceError(
            f"transformers:{folder}: not a model; pass a local folder with config.json, "
            "preprocessor_config.json and the weights"
        )
    transformers = import_package("transformers")
    preprocessing = _processor(folder)

    def load() -> Any:
        with quiet(transformers.utils.logging):
            return transformers.AutoModel.from_pretrained(
                folder, **SAFELY, output_loading_info=True
            )

    module, info = _loading(f"transformers:{folder}", load)
    # If the checkpoint has no pooler, the one created is random, and is not used below.
    missing = sorted(info["missing_keys"])
    if lost := [key for key in missing if "pooler" not in key]:
        raise PolyglanceError(f"transformers:{folder}: the weights lack '{lost[0]}'")
    module = getattr(module, "vision_model", module)
    return TorchBackbone(
        f"transformers:{folder}",
        module,
        preprocessing,
        lambda pixels: (None, module(pixel_values=pixels).last_hidden_state),
        unused=missing,
    )


def _published(known: Any, weights: Path | None) -> Any:
    """The torchvision weights that a file's name refers to; else the default ones."""
    name = "" if weights is None else weights.name
    for one in getattr(known, "__members__", {}).values():
        if name and str(getattr(one, "url", "")).rpartition("/")[2] == name:
            return one
    return known.DEFAULT


def _processor(folder: Path) -> Preprocessing:
    """Preprocessing from `preprocessor_config.json`."""
    path = folder / "preprocessor_config.json"
    config = read_json(path)
    try:
        size = config["size"] if isinstance(config["size"], dict) else {"height": config["size"]}
        resize = int(size.get("shortest_edge") or size["height"])
        squash = "shortest_edge" not in size
        if squash and int(size.get("width", resize)) != resize:
            raise ValueError("the input is not square")
        crop = resize
        if config.get("do_center_crop") and not squash:
            crop = config.get("crop_size", resize)
            crop = int(crop["height"] if isinstance(crop, dict) else crop)
        names = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
        return Preprocessing(
            size=crop,
            crop=crop / resize,
            mean=_pixels(config["image_mean"]),
            std=_pixels(config["image_std"]),
            interpolation=_interpolation(names[config.get("resample", 2)]),
            squash=squash,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PolyglanceError(f"{path}: cannot read the preprocessing ({error!r})") from None


def _loading(name: str, load: Callable[[], Any]) -> Any:
    """Report any error of another package while loading as a problem of the name or weights."""
    try:
        return load()
    except PolyglanceError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolyglanceError(
            f"{name}: cannot load the network ({reason}); check the name, or pass its weights "
            "as NAME@FILE"
        ) from None


def _state(path: Path) -> Any:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


def _is_map(value: Any) -> bool:
    ndim = getattr(value, "ndim", 0)
    return ndim == 3 or (ndim == 4 and min(value.shape[2:]) > 1)


def _pixels(values: Any) -> tuple[float, float, float]:
    red, green, blue = (255.0 * float(value) for value in values)
    return red, green, blue


def _first(value: Any) -> int:
    return int(value[0] if isinstance(value, (list, tuple)) else value)


def _interpolation(name: str) -> Any:
    return name if name in ("bicubic", "bilinear", "nearest", "lanczos") else "bicubic"
