"""Devices: which one is meant, whether it is there, and how tensors get to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    import torch
    from torch import nn

Device: TypeAlias = "str | torch.device"
"""A name, or torch's own object."""
AUTO, CPU = "auto", "cpu"
NAMES = [AUTO, CPU, "cuda", "mps"]
HELP = "auto (the best available), cpu, cuda, cuda:N or mps"
"""What `--device` takes."""
EXHAUSTED = ("out of memory", "can't allocate memory")
"""In the messages of torch where a device, or the machine, has no more memory."""
T = TypeVar("T")


def choose_device(name: Device = AUTO, index: int = 0) -> "torch.device":
    """The device of a name, which must be there.

    >>> choose_device("cpu")
    device(type='cpu')

    Args:
        name: auto, cpu, cuda, cuda:N or mps; auto is CUDA, else MPS, else the CPU.
        index: which GPU is meant where the name does not say.
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
        return torch.device(_there(name, kind, count))
    place = int(number) if number else index
    if 0 < count <= place:
        last = f"cuda:0 to cuda:{count - 1}" if count > 1 else "cuda:0"
        raise PolyglanceError(f"device 'cuda:{place}': there is no such GPU here; use {last}")
    return torch.device(_there(name, kind, count), place)


def _there(name: str, kind: str, count: int) -> str:
    if count:
        return kind
    import torch

    what = "GPU that CUDA can use" if kind == "cuda" else "Metal device"
    raise PolyglanceError(
        f"device '{name}': this machine has no {what}, or torch {torch.__version__} was built "
        "without it; use --device cpu, or install another torch"
    )


def count_devices(kind: str) -> int:
    """How many devices of a kind are there."""
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return 1 if kind == CPU else int(torch.backends.mps.is_available())


def move(value: T, device: "torch.device") -> T:
    """The same with its tensors on a device; tuples, lists and dicts are looked into.

    Copies from pinned memory do not wait for the device.
    """
    return _each(value, lambda tensor: tensor.to(device, non_blocking=True))


def place(module: "nn.Module", device: "torch.device") -> None:
    """Bring a module to a device; nothing happens to one that is there."""
    tensors = [*module.parameters(), *module.buffers()]
    if any(tensor.device != device for tensor in tensors):
        module.to(device)


def pinned(value: T) -> T:
    """The same with its tensors in memory that a GPU copies from on its own."""
    return _each(value, lambda tensor: tensor.pin_memory())


def _each(value: Any, change: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _each(one, change) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_each(one, change) for one in value))
    if isinstance(value, list | tuple):
        return type(value)(_each(one, change) for one in value)
    return value


def generator_state(device: str) -> "torch.Tensor | None":
    """What a device's own random numbers come from next; None for the CPU's, which are torch's."""
    import torch

    if device.startswith("cuda") and torch.cuda.is_available():
        return torch.cuda.get_rng_state(device)
    return torch.mps.get_rng_state() if device == "mps" else None


def restore_generator(device: str, state: "torch.Tensor") -> None:
    """Go on with the random numbers of `generator_state`."""
    import torch

    if device.startswith("cuda") and torch.cuda.is_available():
        torch.cuda.set_rng_state(state, device)
    elif device == "mps":
        torch.mps.set_rng_state(state)


def is_exhausted(error: BaseException) -> bool:
    """Whether an error means that there is no more memory, on the machine or a device."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(part in str(error) for part in EXHAUSTED)


@contextmanager
def enough_memory(where: object, remedy: str) -> Iterator[None]:
    """Make of exhausted memory an error that says what to do.

    Args:
        where: the device.
        remedy: what needs less.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_exhausted(error):
            raise
        raise PolyglanceError(f"not enough memory on {where}; {remedy}") from None
