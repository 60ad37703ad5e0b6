"""Resumable checkpoints: one safetensors file, no pickle, written atomically."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import generator_state, restore_generator
from polyglance.storage.files import atomic, refuse_pipe

FILE = "checkpoint.safetensors"
GENERATOR, DEVICE_GENERATOR, SCALER = "generator", "generator.device", "scaler"


@dataclass
class Progress:
    """State of a run; `planned` is the total number of updates, 0 for runs of old versions."""

    update: int = 0
    best: float = float("-inf")
    best_update: int = 0
    stale: int = 0
    collapsed: int = 0
    seconds: float = 0.0
    finished: str = ""
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    planned: int = 0
    likelihood: float = float("-inf")
    """Log-likelihood of the best weights, if it decides between equal rsums."""
    device: str = ""
    """Device of the last update; "" for runs of old versions."""


def save_checkpoint(
    folder: Path,
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    done: Progress,
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Write everything that the next update depends on.

    Args:
        folder: of the run.
        modules: to save, by name.
        optimizer: of their parameters.
        done: the training's progress.
        scaler: of the gradients.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {GENERATOR: torch.get_rng_state()}
    for name, module in modules.items():
        tensors |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": value for key, value in state.items()}
    if (state := generator_state(done.device)) is not None:
        tensors[DEVICE_GENERATOR] = state
    if scaler is not None and scaler.is_enabled():
        found = scaler.state_dict()
        tensors[SCALER] = torch.tensor([found["scale"], found["_growth_tracker"]])
    contiguous = {name: value.cpu().contiguous() for name, value in tensors.items()}
    with atomic(folder / FILE) as handle:
        handle.write(save(contiguous, {"progress": json.dumps(asdict(done))}))


def load_checkpoint(
    folder: Path,
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler | None = None,
) -> Progress:
    """Restore what `save_checkpoint` wrote, including the state of torch's generator.

    Args:
        folder: of the run.
            modules: to copy the weights into, by name.
            optimizer: to copy the optimizer's state into.
            scaler: of the gradients.

        The run may have been on another device: weights go to the modules' device.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / FILE
    refuse_pipe(path)
    try:
        with safe_open(path, framework="pt") as handle:
            tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
            progress = Progress(**json.loads(handle.metadata()["progress"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise PolyglanceError(
            f"{path}: damaged, or not a checkpoint of this version ({error}); remove the run and "
            "train again"
        ) from None
    try:
        _restore(tensors, modules, optimizer)
        _restore_device(tensors, modules, progress.device, scaler)
    except (RuntimeError, KeyError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[-1].strip()
        raise PolyglanceError(
            f"{path}: does not match this recipe and dataset ({reason}); if the captions have "
            "changed, train into another --out"
        ) from None
    return progress


def _restore(
    tensors: dict[str, Tensor], modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> None:
    for name, module in modules.items():
        prefix = f"{name}."
        part = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        module.load_state_dict(part)
    optimizer.load_state_dict(_optimizer_state(optimizer, tensors))
    torch.set_rng_state(tensors[GENERATOR])


def _restore_device(
    tensors: dict[str, Tensor],
    modules: dict[str, nn.Module],
    before: str,
    scaler: torch.amp.GradScaler | None,
) -> None:
    """The device's generator, if the device is the same, and the scale of gradients."""
    places = {str(part.device) for module in modules.values() for part in module.parameters()}
    if DEVICE_GENERATOR in tensors and before in places:
        restore_generator(before, tensors[DEVICE_GENERATOR])
    if SCALER in tensors and scaler is not None and scaler.is_enabled():
        scale, growth = tensors[SCALER].tolist()
        scaler.load_state_dict(
            {**scaler.state_dict(), "scale": scale, "_growth_tracker": int(growth)}
        )


def _optimizer_state(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> dict[str, Any]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            state.setdefault(int(index), {})[key] = value
    return {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
