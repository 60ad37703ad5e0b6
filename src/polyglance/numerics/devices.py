"""Selecting a device, checking that it exists, and moving tensors to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    import torch
    from torch import nn

Device: TypeAlias = "str | torch.device"
"""A name, or a `torch.device`."""
AUTO, CPU = "auto", "cpu"
NAMES = [AUTO, CPU, "cuda", "mps"]
HELP = "auto (the best available), cpu, cuda, cuda:N or mps"
"""Values of `--device`."""
OUT_OF_MEMORY = ("out of memory", "can't allocate memory")
"""Substrings of torch's messages when a device or the machine is out of memory."""
T = TypeVar("T")


def choose_device(name: Device = AUTO, index: int = 0) -> "torch.device":
    """The device with this name; an error if it does not exist.

    >>> choose_device("cpu")
    device(type='cpu')

    Args:
        name: auto, cpu, cuda, cuda:N or mps; auto is CUDA, else MPS, else the CPU.
        index: GPU to use if the name has no number.
    """
    import torch

    if isinstance(name, torch.device):
        name = str(name)
    kind, _, number = name.partition(":")
    known = kind in NAMES and (not number or (kind == "cuda" and number.isdecimal()))
    if not known or name.endswith(":"):
        raise PolyglanceError(f"device '{name}': expected {HELP}{nearest(name, NAMES)}")
    if kind == AUTO:
        kind = next(one for one in ("cuda", "mps", CPU) if count_devices(one))
    count = count_devices(kind)
    if kind != "cuda":
        return torch.device(_require(name, kind, count))
    place = int(number) if number else index
    if 0 < count <= place:
        last = f"cuda:0 to cuda:{count - 1}" if count > 1 else "cuda:0"
        raise PolyglanceError(f"device 'cuda:{place}': this machine has no such GPU; use {last}")
    return torch.device(_require(name, kind, count), place)


def _require(name: str, kind: str, count: int) -> str:
    if count:
        return kind
    import torch

    what = "GPU that CUDA can use" if kind == "cuda" else "Metal device"
    raise PolyglanceError(
        f"device '{name}': this machine has no {what}, or torch {torch.__version__} was built "
        "without it; use --device cpu, or install another torch"
    )


def count_devices(kind: str) -> int:
    """The number of available devices of a kind."""
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return 1 if kind == CPU else int(torch.backends.mps.is_available())


def move(value: T, device: "torch.device") -> T:
    """Move tensors to a device, including those in tuples, lists and dicts.

    Copies from pinned memory are asynchronous.
    """
    return _map_tensors(value, lambda tensor: tensor.to(device, non_blocking=True))


def place(module: "nn.Module", device: "torch.device") -> None:
    """Move a module to a device, unless it is already there."""
    tensors = [*module.parameters(), *module.buffers()]
    if any(tensor.device != device for tensor in tensors):
        module.to(device)


def pinned(value: T) -> T:
    """Copy tensors into pinned memory, from which a GPU can copy asynchronously."""
    return _map_tensors(value, lambda tensor: tensor.pin_memory())


def _map_tensors(value: Any, change: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_tensors(one, change) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map_tensors(one, change) for one in value))
    if isinstance(value, list | tuple):
        return type(value)(_map_tensors(one, change) for one in value)
    return value


def generator_state(device: str) -> "torch.Tensor | None":
    """State of a device's random number generator; None for the CPU, which uses torch's."""
    import torch

    if device.startswith("cuda") and torch.cuda.is_available():
        return torch.cuda.get_rng_state(device)
    return torch.mps.get_rng_state() if device == "mps" else None


def restore_generator(device: str, state: "torch.Tensor") -> None:
    """Restore a state returned by `generator_state`."""
    import torch

    if device.startswith("cuda") and torch.cuda.is_available():
        torch.cuda.set_rng_state(state, device)
    elif device == "mps":
        torch.mps.set_rng_state(state)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that the machine or a device is out of memory."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(part in str(error) for part in OUT_OF_MEMORY)


@contextmanager
def explain_out_of_memory(where: object, remedy: str) -> Iterator[None]:
    """Turn out-of-memory errors into a `PolyglanceError` that says what to do.

    Args:
        where: the device.
        remedy: what to change, for the message.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise PolyglanceError(f"not enough memory on {where}; {remedy}") from None
