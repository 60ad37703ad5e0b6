"""A GPU that is not there: torch's FakeTensorMode on "cuda", with values beside the fakes.

Every operation on a tensor of the device is checked by FakeTensorMode, which raises where tensors
of two devices meet, and is also computed on the CPU with the values that the fakes stand for: what
depends on values, such as the distinct words of a batch, goes on, and losses can be compared with
those of the CPU. Tensors on the CPU are real ones. Numpy arrays of the device's tensors are an
error, as on a GPU.

Torch without CUDA has no streams for its autograd, so that to C++ the device is the CPU; moves
between devices, which C++ would leave out then, are done here.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

GPU = torch.device("cuda:0")
CPU = torch.device("cpu")
aten = torch.ops.aten


class _Fakes(FakeTensorMode):
    """To C++ its tensors are on the CPU."""

    def dispatch(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.ops.prim.device.default:
            return CPU
        return super().dispatch(func, types, args, kwargs or {})


class _Values(TorchDispatchMode):
    """Runs operations twice: as fakes, which checks devices and shapes, and with values."""

    backward = False
    """Whether autograd runs, whose new tensors are where C++ sees the others."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.ops.prim.device.default:
            return CPU
        if self.backward and kwargs.get("device") == CPU:
            kwargs["device"] = GPU  # zeros that a gradient is added to
        leaves = tree_leaves((args, kwargs))
        fakes = [leaf for leaf in leaves if isinstance(leaf, FakeTensor)]
        asked = any(isinstance(leaf, torch.device) and leaf == GPU for leaf in leaves)
        if not fakes and not asked:
            with _disable_current_modes():
                return func(*args, **kwargs)
        given = tree_map(_value, kwargs)
        given.pop("pin_memory", None)
        with _disable_current_modes():
            values = func(*tree_map(_value, args), **given)
        if func is aten._to_copy.default:
            device = kwargs.get("device") or args[0].device
            return values if device == CPU else _fake(values)
        if func is aten.copy_.default:
            return args[0]
        try:
            found = func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            _check_devices(func, leaves)
            return tree_map_only(Tensor, _fake, values)
        if "embedding_bag" in str(func):
            # What is kept for the gradient has other shapes on a GPU.
            return tree_map_only(Tensor, _fake, values)
        return tree_map(_joined, values, found)


class _Moves(TorchFunctionMode):
    """`to`, `cpu` and `new_tensor` by the device that Python sees."""

    def __init__(self, values: _Values) -> None:
        super().__init__()
        self.values = values

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is Tensor.cpu and isinstance(args[0], FakeTensor):
            return aten._to_copy(args[0].detach(), device=CPU)
        if func is torch.tensor and kwargs.get("device") == GPU:
            return aten._to_copy(func(*args, **{**kwargs, "device": CPU}), device=GPU)
        if func is Tensor.new_tensor and isinstance(args[0], FakeTensor):
            return aten._to_copy(torch.tensor(args[1], dtype=args[0].dtype), device=GPU)
        if func is Tensor.backward:
            self.values.backward = True
            try:
                return func(*args, **kwargs)
            finally:
                self.values.backward = False
        if func is Tensor.to:
            return _moved(func, args[0], *_wanted(args[0], args[1:], kwargs))
        return func(*args, **kwargs)


def _wanted(
    tensor: Tensor, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[torch.device, torch.dtype]:
    """The device and type that `to` is asked for, in any of its forms."""
    device, dtype = tensor.device, tensor.dtype
    for one in (*args, *kwargs.values()):
        if isinstance(one, Tensor):
            device, dtype = one.device, one.dtype
        elif isinstance(one, torch.dtype):
            dtype = one
        elif isinstance(one, str | torch.device):
            device = torch.device(one)
    return device, dtype


def _moved(to: Any, tensor: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    if device != tensor.device:
        return aten._to_copy(tensor.detach(), device=device, dtype=dtype)
    return tensor if dtype == tensor.dtype else to(tensor, dtype)


def _value(leaf: Any) -> Any:
    if isinstance(leaf, FakeTensor):
        return leaf.value
    return CPU if isinstance(leaf, torch.device) else leaf


def _fake(value: Tensor) -> Tensor:
    """A tensor of the device that stands for a value."""
    found = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=GPU)
    found.value = value
    return found


def _joined(value: Any, found: Any) -> Any:
    """What an operation gives: a number, a tensor of the CPU, or a fake with its value."""
    if not isinstance(found, FakeTensor) or found.device == CPU:
        return value
    assert found.shape == value.shape
    found.value = value
    return found


def _check_devices(func: Any, leaves: Sequence[Any]) -> None:
    """Torch's own check is not reached where the shape of a result depends on values."""
    if func is aten.gru.data:  # the sizes of its steps are on the CPU
        leaves = [*leaves[:1], *leaves[2:]]
    devices = {leaf.device for leaf in leaves if isinstance(leaf, Tensor) and leaf.dim()}
    assert len(devices) <= 1, f"{func}: tensors on {devices}"


@contextmanager
def pretend_gpu() -> Iterator[torch.device]:
    """Within it, "cuda:0" is there."""
    load = torch.load

    def read(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():  # what is on a disk is real
            return load(*args, **kwargs)

    with (
        patch("torch.load", read),
        _Fakes(allow_non_fake_inputs=True),
        _Values() as values,
        _Moves(values),
    ):
        yield GPU
