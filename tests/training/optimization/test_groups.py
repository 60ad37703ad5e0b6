"""Learning rates of parts of a network."""

from pathlib import Path

import pytest
import torch
from torch import nn

from polyglance.errors import PolyglanceError
from polyglance.training.optimization.groups import check_multipliers, parameter_groups
from tests.training.runs import run, same, stop_after, weights


def network() -> nn.Module:
    text = nn.ModuleDict({"gru": nn.Linear(2, 2), "gruff": nn.Linear(2, 2)})
    return nn.ModuleDict({"image": nn.Linear(3, 2), "text": text})


def test_the_longest_beginning_counts() -> None:
    net, loss = network(), nn.Linear(1, 1)
    multipliers = {"text": 0.5, "text.gru": 0.1}
    groups = parameter_groups({"model": net, "objective": loss}, multipliers)
    found = {group["multiplier"]: {id(p) for p in group["params"]} for group in groups}
    assert found == {
        1.0: {id(p) for p in [*net["image"].parameters(), *loss.parameters()]},
        0.5: {id(p) for p in net["text"]["gruff"].parameters()},
        0.1: {id(p) for p in net["text"]["gru"].parameters()},
    }


@pytest.mark.parametrize("prefix", ["text.gr", "text.encoder", "objective", ""])
def test_an_unknown_part_is_an_error(prefix: str) -> None:
    with pytest.raises(PolyglanceError, match=r"no parameter begins with .*text\.gru"):
        check_multipliers(network(), {prefix: 0.1})


def test_a_part_with_factor_zero_stays_as_it_began(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "frozen", "training.multipliers={text.words: 0}", "training.epochs=1")
    torch.manual_seed(0)
    run(toy, tmp_path / "free", "training.epochs=1")
    frozen, free = weights(tmp_path / "frozen"), weights(tmp_path / "free")
    assert float(frozen["text.words.weight"].abs().max()) <= 0.1
    assert float(free["text.words.weight"].abs().max()) > 0.1


def test_several_groups_resume_to_the_same_bits(toy: Path, tmp_path: Path) -> None:
    settings = (
        "training.multipliers={text.gru: 0.1, image: 0.5}",
        "training.warmup_epoch=1",
        "image.head.kind=residual-mlp",
        "image.head.hidden=8",
    )
    run(toy, tmp_path / "whole", *settings)
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", *settings, callbacks=stop_after(11))
    run(toy, tmp_path / "cut", *settings, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_a_mistake_in_the_multipliers_leaves_nothing(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"begins with 'text.gro' .did you mean 'text.gru'"):
        run(toy, tmp_path / "run", "training.multipliers={text.gro: 0.1}")
    assert not (tmp_path / "run").exists()
    with pytest.raises(PolyglanceError, match=r"training\.multipliers"):
        run(toy, tmp_path / "run", "training.multipliers={text.gru: -1}")
