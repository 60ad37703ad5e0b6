"""DistributedDataParallel around a step: gradients are averaged over all processes."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from polyglance.errors import PolyglanceError
from polyglance.training.distributed.broadcast import broadcast_optimizer, broadcast_weights
from polyglance.training.distributed.norms import sync_norms
from polyglance.training.distributed.world import World

SEEDS = 909
"""Stream of random numbers, distinct from those of the samplers."""
Outcome = Callable[[int, Any], Any]
"""(number of the update, prepared batch) → outcome of the step."""

_OPTION = "forward_sync_buffers"
_NEW = _OPTION in inspect.signature(DistributedDataParallel.__init__).parameters
_BUFFERS: dict[str, Any] = {_OPTION if _NEW else "broadcast_buffers": False}
"""Buffers change identically on all ranks; newer versions of torch renamed the option."""


class Splitting(Protocol):
    """The required part of a step's interface."""

    modules: dict[str, nn.Module]
    splits: bool
    world: World

    def outcome(self, update: int, prepared: Any) -> Any:
        """The loss of a batch, and related values."""


def in_parallel(
    step: Splitting, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler, seed: int
) -> Outcome:
    """The outcome of a step, with gradients of all processes if there are several.

    All start with the weights and the optimizer state of rank 0.

    Args:
        step: computes the loss of a batch.
        optimizer: of its parameters.
        scaler: of gradients.
        seed: of the training.
    """
    world = step.world
    if world.is_single:
        return step.outcome
    if not step.splits:
        raise PolyglanceError(
            f"the losses of {type(step).__name__} cannot be split between processes; start "
            "polyglance without torchrun"
        )
    for module in step.modules.values():
        sync_norms(module, world)
    broadcast_weights(world, step.modules)
    broadcast_optimizer(world, optimizer)
    scaler.load_state_dict(world.broadcast(scaler.state_dict()))
    return ParallelOutcome(step, seed)


class ParallelOutcome:
    """The outcome of a step, with the gradients of all processes.

    Parameters that an update does not use, such as those of another language's tower, have no
    gradient, as in a single process. Which ones are trained may change between updates.
    """

    def __init__(self, step: Splitting, seed: int) -> None:
        self.forward, self.world, self.seed = _Forward(step), step.world, seed
        self._trained: list[bool] = []

    def __call__(self, update: int, prepared: Any) -> Any:
        trained = [parameter.requires_grad for parameter in self.forward.parameters()]
        if trained != self._trained:
            self._trained = trained
            self.parallel = DistributedDataParallel(
                self.forward, find_unused_parameters=True, **_BUFFERS
            )
        # Ranks drop different units, reproducibly after a resumption.
        words = np.random.SeedSequence([self.seed, update, self.world.rank, SEEDS])
        torch.manual_seed(int(words.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        return self.parallel(update, prepared)


class _Forward(nn.Module):
    """A step as a module whose forward pass returns the loss."""

    def __init__(self, step: Splitting) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(step.modules)
        self.outcome = step.outcome

    def forward(self, update: int, prepared: Any) -> Any:
        return self.outcome(update, prepared)
