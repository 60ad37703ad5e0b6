"""How many bits numbers have: what may be computed in half of them, and what never is."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from polyglance.errors import PolyglanceError

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""By `training.precision`; fp32 is neither."""


def wide(values: Tensor) -> Tensor:
    """The values in float32, or in float64 if they are."""
    return values if values.dtype == torch.float64 else values.float()


def check_precision(precision: str, device: torch.device) -> None:
    """Numbers that a device does not compute with are an error."""
    if precision == "fp16" and device.type == "cpu":
        raise PolyglanceError(
            "training.precision=fp16 is for GPUs, and this training is on the CPU; use bf16, which "
            "needs no scaling of gradients, or --device cuda"
        )


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Where layers compute in half precision, as torch chooses; nothing happens for fp32."""
    half = HALVES.get(precision)
    return torch.autocast(device.type, half, enabled=half is not None)


def gradient_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Keeps gradients of float16 above its smallest number; of other numbers it does nothing."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")


def halves_products(device: torch.device) -> bool:
    """Whether this is within `autocast` to bfloat16 on a processor that multiplies it faster."""
    if device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return False
    return torch.get_autocast_dtype("cpu") == torch.bfloat16 and _multiplies_bf16()


@cache
def _multiplies_bf16() -> bool:
    """Whether the processor has AVX512-BF16 or AMX; without them bfloat16 is slower."""
    return any(
        bool(getattr(torch.cpu, name, bool)())
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Where nothing does, also within `autocast`."""
    if not torch.amp.is_autocast_available(device.type):  # such as "meta"
        return nullcontext()
    return torch.autocast(device.type, enabled=False)
