"""Products of float32 matrices on a CPU, by the faster of the libraries that torch carries.

torch multiplies them with MKL, which leaves AVX-512 alone on processors that are not Intel's: half
of the speed. oneDNN, which is in torch as well, asks the processor only what it can do. Sums have
another order then, so results differ in the last bits. Which library is taken depends on the
processor and the sizes alone: a training gives the same bits whenever it is repeated.
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

LEAST = 1 << 20
"""Multiplications from which oneDNN's longer way to a product is worth it."""
_PLAIN = (Tensor, nn.Parameter)
"""What is computed with; others, such as fake tensors, are asked about."""


@cache
def has_faster() -> bool:
    """Whether oneDNN is faster than MKL on this processor."""
    ready = torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available()
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return ready and wide and _maker() != "GenuineIntel" and _linear() is not None


def _maker() -> str:
    """The processor's, as Linux tells it; "GenuineIntel", with which nothing changes, elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "GenuineIntel"
    found = (line.split(":", 1)[1].strip() for line in lines if line.startswith("vendor_id"))
    return next(found, "GenuineIntel")


@cache
def _linear() -> Any:
    """oneDNN's product in this version of torch; None where there is none."""
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left [n, K] and right [m, K] → left · rightᵀ + bias [m], [n, m], without a gradient.

    Where `right` is bfloat16 and `left` is not, it is a product of bfloat16, as float32.

    >>> product(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 7.]])
    """
    if left.dtype == torch.float32 and right.dtype == torch.bfloat16:
        found = (left.bfloat16() @ right.t()).float()
        return found if bias is None else found.add_(bias)
    if _is_faster(left, right):
        if not (right.is_contiguous() or right.t().is_contiguous()):
            right = right.contiguous()  # for others oneDNN has no fast way
        return _linear()(left, right, bias, "none", [], "")
    return left @ right.t() if bias is None else torch.addmm(bias, left, right.t())


def _is_faster(left: Tensor, right: Tensor) -> bool:
    count, inner = left.shape
    return (
        count * inner * right.shape[0] >= LEAST
        and left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        and type(left) in _PLAIN
        and has_faster()
    )


class _Linear(torch.autograd.Function):
    """`functional.linear` of matrices, with `product` in both directions."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return product(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        needed, grad = ctx.needs_input_grad, grads[0]
        return (
            product(grad, weight.t()) if needed[0] else None,
            product(grad.t(), inputs.t()) if needed[1] else None,
            grad.sum(0) if needed[2] else None,
        )


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`torch.nn.functional.linear`: inputs [..., K], weight [m, K], bias [m] → [..., m]."""
    half = inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    special = half or torch.jit.is_tracing() or torch.compiler.is_compiling()
    if special or inputs.dim() < 2 or not _is_faster(inputs.flatten(0, -2), weight):
        return functional.linear(inputs, weight, bias)
    found = _Linear.apply(inputs.flatten(0, -2), weight, bias)
    return found.unflatten(0, inputs.shape[:-1])


class Linear(nn.Linear):
    """torch's layer, by `linear`.

    >>> Linear(3, 2)(torch.zeros(4, 3)).shape
    torch.Size([4, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] → [..., out]."""
        return linear(input, self.weight, self.bias)
