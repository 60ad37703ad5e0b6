"""Checkpoints: everything that the next update depends on, and damaged ones."""

from pathlib import Path

import pytest
import torch
from torch import nn

from polyglance.errors import PolyglanceError
from polyglance.training.checkpoint import FILE, Progress, load_checkpoint, save_checkpoint
from tests.training.runs import run


def parts(seed: int, size: int = 3) -> tuple[dict[str, nn.Module], torch.optim.Optimizer]:
    torch.manual_seed(seed)
    modules = {"model": nn.Linear(size, 2), "objective": nn.BatchNorm1d(2)}
    groups = [{"params": list(module.parameters())} for module in modules.values()]
    return modules, torch.optim.Adam(groups, lr=0.1)


def update(modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer) -> float:
    loss = modules["objective"](modules["model"](torch.randn(8, 3))).pow(3).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def test_the_next_update_is_the_same(tmp_path: Path) -> None:
    modules, optimizer = parts(0)
    update(modules, optimizer)
    done = Progress(update=7, best=1.5, stale=2, evaluations=[{"update": 3, "mr": {"de": 1.0}}])
    save_checkpoint(tmp_path, modules, optimizer, done)
    expected = [update(modules, optimizer) for _ in range(3)]
    others, other_optimizer = parts(1)
    assert load_checkpoint(tmp_path, others, other_optimizer) == done
    assert [update(others, other_optimizer) for _ in range(3)] == expected
    for name, module in modules.items():
        for key, value in module.state_dict().items():
            assert torch.equal(value, others[name].state_dict()[key])


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    modules, optimizer = parts(0)
    save_checkpoint(tmp_path, modules, optimizer, Progress())
    with pytest.raises(PolyglanceError, match="does not match this recipe and dataset"):
        load_checkpoint(tmp_path, *parts(0, size=4))


@pytest.mark.parametrize("damage", [b"", b"garbage"])
def test_a_damaged_checkpoint_is_refused(toy: Path, tmp_path: Path, damage: bytes) -> None:
    run(toy, tmp_path / "run", "training.updates=2")
    (tmp_path / "run" / FILE).write_bytes(damage)
    with pytest.raises(PolyglanceError, match=rf"{FILE}: damaged"):
        run(toy, tmp_path / "run", "training.updates=2", resume=True)
