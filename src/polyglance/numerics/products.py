"""Products of float32 matrices on a CPU, with the faster of torch's two libraries.

By default torch uses MKL, which does not use AVX-512 on non-Intel processors and is half as fast
there. oneDNN, which torch also includes, does. It sums in a different order, so results differ in
the last bits. The choice depends only on the processor and the sizes, so training remains
reproducible bit for bit.
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

LEAST = 1 << 20
"""Multiplications from which oneDNN's higher call overhead pays off."""
_PLAIN = (Tensor, nn.Parameter)
"""Exact types that oneDNN accepts; subclasses, such as fake tensors, use torch's own product."""


@cache
def prefers_onednn() -> bool:
    """Whether oneDNN is faster than MKL on this processor."""
    ready = torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available()
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return ready and wide and _vendor() != "GenuineIntel" and _linear() is not None


def _vendor() -> str:
    """The processor's vendor on Linux; elsewhere "GenuineIntel", which keeps MKL."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "GenuineIntel"
    found = (line.split(":", 1)[1].strip() for line in lines if line.startswith("vendor_id"))
    return next(found, "GenuineIntel")


@cache
def _linear() -> Any:
    """oneDNN's linear operator, or None if this version of torch lacks it."""
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left · rightᵀ + bias, [n, m]; not differentiable.

    If `left` is float32 and `right` bfloat16, the product is in bfloat16 and returned as float32.

    Args:
        left: [n, K].
        right: [m, K].
        bias: [m]; None adds none.

    >>> product(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 7.]])
    """
    if left.dtype == torch.float32 and right.dtype == torch.bfloat16:
        found = (left.bfloat16() @ right.t()).float()
        return found if bias is None else found.add_(bias)
    if _prefers_onednn(left, right):
        if not (right.is_contiguous() or right.t().is_contiguous()):
            right = right.contiguous()  # oneDNN is slow for other layouts
        return _linear()(left, right, bias, "none", [], "")
    return left @ right.t() if bias is None else torch.addmm(bias, left, right.t())


def _prefers_onednn(left: Tensor, right: Tensor) -> bool:
    count, inner = left.shape
    return (
        count * inner * right.shape[0] >= LEAST
        and left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        and type(left) in _PLAIN
        and prefers_onednn()
    )


class _Linear(torch.autograd.Function):
    """`functional.linear` of matrices, with `product` in the forward and backward pass."""

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
    """`torch.nn.functional.linear`, [..., m].

    Args:
        inputs: [..., K].
        weight: [m, K].
        bias: [m]; None adds none.
    """
    half = inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    special = half or torch.jit.is_tracing() or torch.compiler.is_compiling()
    if special or inputs.dim() < 2 or not _prefers_onednn(inputs.flatten(0, -2), weight):
        return functional.linear(inputs, weight, bias)
    found = _Linear.apply(inputs.flatten(0, -2), weight, bias)
    return found.unflatten(0, inputs.shape[:-1])


class Linear(nn.Linear):
    """`torch.nn.Linear`, computed by `linear`.

    >>> Linear(3, 2)(torch.zeros(4, 3)).shape
    torch.Size([4, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] → [..., out]."""
        return linear(input, self.weight, self.bias)
