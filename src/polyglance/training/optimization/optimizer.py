"""Adam for all parameters; for tables with sparse gradients, only the rows that were used."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from polyglance.recipes.schema import TrainingRecipe


def build_optimizer(groups: list[dict[str, Any]], recipe: TrainingRecipe) -> "LazyAdam | LazyAdamW":
    """The recipe's optimizer for groups of parameters."""
    kind = LazyAdamW if recipe.optimizer == "adamw" else LazyAdam
    made = kind(groups, lr=recipe.lr, weight_decay=recipe.weight_decay, fused=True)
    # Makes the gradient scaler unscale before the step, including sparse gradients.
    made._step_supports_amp_scaling = False
    return made


class _Lazy(torch.optim.Optimizer):
    """Adam steps in which a sparse gradient changes only its own rows and their moments.

    Like torch's SparseAdam, which cannot share an optimizer with other parameters. A dense step
    over a table of 131,072 rows costs more than the rest of an update that uses few of them. Rows
    have no weight decay. With several processes, sparse gradients become dense: for a `lazy`
    parameter the rows with a non-zero gradient count.
    """

    def step(self, closure: Any = None) -> Any:
        held = [
            (parameter, parameter.grad, group)
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None and _is_lazy(parameter)
        ]
        for parameter, _, _ in held:
            parameter.grad = None
        loss = super().step(closure)
        for parameter, grad, group in held:
            self._step_rows(parameter, *_rows(grad), group)
            parameter.grad = grad
        return loss

    @torch.no_grad()
    def _step_rows(
        self, parameter: nn.Parameter, rows: Tensor, values: Tensor, group: dict[str, Any]
    ) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        first, second = group["betas"]
        mean, square = state["exp_avg"][rows], state["exp_avg_sq"][rows]
        mean.lerp_(values, 1 - first)
        square.mul_(second).addcmul_(values, values, value=1 - second)
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
        done = float(state["step"])
        size = float(group["lr"]) / (1 - first**done)
        root = square.sqrt_().div_((1 - second**done) ** 0.5).add_(group["eps"])
        parameter.index_add_(0, rows, mean.div_(root), alpha=-size)


def _is_lazy(parameter: nn.Parameter) -> bool:
    assert parameter.grad is not None
    return parameter.grad.is_sparse or getattr(parameter, "lazy", False)


def _rows(grad: Tensor) -> tuple[Tensor, Tensor]:
    """Rows [n] that a gradient changes, and their gradients."""
    if grad.is_sparse:
        grad = grad.coalesce()
        return grad.indices()[0], grad.values()
    rows = grad.any(1).nonzero().squeeze(1)
    return rows, grad[rows]


class LazyAdam(_Lazy, torch.optim.Adam):
    """Adam, applied by rows if gradients are sparse."""


class LazyAdamW(_Lazy, torch.optim.AdamW):
    """AdamW, applied by rows if gradients are sparse."""


def clip_gradients(parameters: Sequence[nn.Parameter], largest: float) -> None:
    """Scale all gradients together so that their norm is at most `largest`."""
    sparse = [p for p in parameters if p.grad is not None and p.grad.is_sparse]
    if not sparse:
        torch.nn.utils.clip_grad_norm_(parameters, largest)
        return
    parts = []
    for parameter in sparse:
        assert parameter.grad is not None
        parameter.grad = parameter.grad.coalesce()
        parts.append(parameter.grad.values())
    parts += [p.grad for p in parameters if p.grad is not None and not p.grad.is_sparse]
    norm = torch.nn.utils.get_total_norm(parts)
    factor = (largest / (norm + 1e-6)).clamp(max=1.0)
    for part in parts:
        part.mul_(factor)
