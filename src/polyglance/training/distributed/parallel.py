"""DistributedDataParallel around a step: gradients are averaged over all processes."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from polyglance.errors import PolyglanceError
from polyglance.training.distributed.copies import copy_optimizer, copy_weights
from polyglance.training.distributed.norms import sync_norms
from polyglance.training.distributed.team import Team

SEEDS = 909
"""A stream of random numbers beside those of the samplers."""
Outcome = Callable[[int, Any], Any]
"""(number of the update, its batch) → what a step makes of it."""

_OPTION = "forward_sync_buffers"
_NEW = _OPTION in inspect.signature(DistributedDataParallel.__init__).parameters
_BUFFERS: dict[str, Any] = {_OPTION if _NEW else "broadcast_buffers": False}
"""Buffers change alike on all ranks; newer versions of torch have another name for it."""


class Splitting(Protocol):
    """What is needed of a step."""

    modules: dict[str, nn.Module]
    splits: bool
    team: Team

    def outcome(self, update: int, prepared: Any) -> Any:
        """The loss of a batch, and what belongs to it."""


def in_parallel(
    step: Splitting, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler, seed: int
) -> Outcome:
    """A step's outcome, with gradients of all processes where there are several.

    All begin with the weights and the optimizer's state of rank 0.

    Args:
        step: makes a loss of a batch.
        optimizer: of its parameters.
        scaler: of gradients.
        seed: of the training.
    """
    team = step.team
    if team.alone:
        return step.outcome
    if not step.splits:
        raise PolyglanceError(
            f"the losses of {type(step).__name__} cannot be split between processes; start "
            "polyglance without torchrun"
        )
    for module in step.modules.values():
        sync_norms(module, team)
    copy_weights(team, step.modules)
    copy_optimizer(team, optimizer)
    scaler.load_state_dict(team.agreed(scaler.state_dict()))
    return ParallelOutcome(step, seed)


class ParallelOutcome:
    """A step's outcome whose gradients are those of all processes.

    Parameters that an update does not use, such as those of another language's tower, have no
    gradient, as in one process. Which ones are trained may change between updates.
    """

    def __init__(self, step: Splitting, seed: int) -> None:
        self.forward, self.team, self.seed = _Forward(step), step.team, seed
        self._trained: list[bool] = []

    def __call__(self, update: int, prepared: Any) -> Any:
        trained = [parameter.requires_grad for parameter in self.forward.parameters()]
        if trained != self._trained:
            self._trained = trained
            self.parallel = DistributedDataParallel(
                self.forward, find_unused_parameters=True, **_BUFFERS
            )
        # Ranks drop out different units, and the same ones after a resumption.
        words = np.random.SeedSequence([self.seed, update, self.team.rank, SEEDS])
        torch.manual_seed(int(words.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        return self.parallel(update, prepared)


class _Forward(nn.Module):
    """A step as a module, whose forward makes the loss."""

    def __init__(self, step: Splitting) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(step.modules)
        self.outcome = step.outcome

    def forward(self, update: int, prepared: Any) -> Any:
        return self.outcome(update, prepared)
