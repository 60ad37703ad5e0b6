"""Copies of rank 0's state on all ranks."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, distributed, nn

from polyglance.training.distributed.world import World


def broadcast_weights(world: World, modules: Mapping[str, nn.Module]) -> None:
    """Give all processes the weights of rank 0."""
    if world.is_single:
        return
    for module in modules.values():
        for value in module.state_dict().values():
            distributed.broadcast(value, 0)


def broadcast_optimizer(world: World, optimizer: torch.optim.Optimizer) -> None:
    """Give all processes the state of rank 0's optimizer."""
    if world.is_single:
        return
    own = optimizer.state_dict()
    state = {index: _on_cpu(part) for index, part in own["state"].items()} if world.is_main else {}
    own["state"] = world.broadcast(state)
    if not world.is_main:
        optimizer.load_state_dict(own)


def _on_cpu(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: v.cpu() if isinstance(v, Tensor) else v for name, v in state.items()}
