"""What rank 0 has, on all ranks."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, distributed, nn

from polyglance.training.distributed.team import Team


def copy_weights(team: Team, modules: Mapping[str, nn.Module]) -> None:
    """Give all processes the weights of rank 0."""
    if team.alone:
        return
    for module in modules.values():
        for value in module.state_dict().values():
            distributed.broadcast(value, 0)


def copy_optimizer(team: Team, optimizer: torch.optim.Optimizer) -> None:
    """Give all processes the state of rank 0's optimizer."""
    if team.alone:
        return
    own = optimizer.state_dict()
    state = {index: _on_cpu(part) for index, part in own["state"].items()} if team.leads else {}
    own["state"] = team.agreed(state)
    if not team.leads:
        optimizer.load_state_dict(own)


def _on_cpu(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: v.cpu() if isinstance(v, Tensor) else v for name, v in state.items()}
