"""Training without the noise of gradients that are zero but for rounding.

Adam divides a gradient by its own size, so that a parameter without influence (a bias before batch
normalisation, the key bias of an attention) takes steps of full length in directions that depend on
the processor. Running statistics lag behind them, and so embeddings differ between machines.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

NOISE = 1e-6
"""A gradient whose largest value is below this share of the largest of all is rounding."""


def drop_noise(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Take away the gradients that are rounding, before a step."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    sizes = {p: float(p.grad.abs().max()) for p in parameters if p.grad is not None}
    largest = max(sizes.values(), default=0.0)
    for parameter, size in sizes.items():
        if size < NOISE * largest:
            parameter.grad = None


@contextmanager
def quiet() -> Iterator[None]:
    """All optimizers inside the block drop gradients that are rounding."""
    handle = register_optimizer_step_pre_hook(drop_noise)
    try:
        yield
    finally:
        handle.remove()
