"""Half-precision computation."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from polyglance.errors import PolyglanceError

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""Half-precision types, by `training.precision`."""


def to_float32(values: Tensor) -> Tensor:
    """Convert to float32, unless the values are float64."""
    return values if values.dtype == torch.float64 else values.float()


def check_precision(precision: str, device: torch.device) -> None:
    """Raise an error if the device does not support the precision."""
    if precision == "fp16" and device.type == "cpu":
        raise PolyglanceError(
            "training.precision=fp16 is for GPUs, and this training is on the CPU; use bf16, which "
            "needs no scaling of gradients, or --device cuda"
        )


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Context in which torch computes some layers in half precision; no effect for fp32."""
    half = HALVES.get(precision)
    return torch.autocast(device.type, half, enabled=half is not None)


def gradient_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Scaler that keeps float16 gradients from underflowing; disabled for other types."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")


def uses_bf16_products(device: torch.device) -> bool:
    """Whether autocast to bfloat16 is on, and the processor multiplies bfloat16 faster."""
    if device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return False
    return torch.get_autocast_dtype("cpu") == torch.bfloat16 and _has_fast_bf16()


@cache
def _has_fast_bf16() -> bool:
    """Whether the processor has AVX512-BF16 or AMX; without them bfloat16 is slower."""
    return any(
        bool(getattr(torch.cpu, name, bool)())
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Context that disables `autocast`."""
    if not torch.amp.is_autocast_available(device.type):  # for example "meta"
        return nullcontext()
    return torch.autocast(device.type, enabled=False)
