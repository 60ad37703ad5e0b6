"""Half precision: towers compute in it, losses and norms do not, and trainings go on."""

from pathlib import Path

import pytest
import torch

from polyglance.numerics.precision import gradient_scaler
from polyglance.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from tests.devices.recipes import World, trained

CPU = torch.device("cpu")
RECIPES = ["nce", "vse-infinity-grid", "liwe", "liwe-chargru", "smalr", "vsrn", "cvse", "imram"]
RECIPES += ["hgr", "translator", "order", "vse-infinity-bert", "sentence-nce", "nce-e2e"]
"""Every kind of tower, embedder, pooling and loss."""


@pytest.mark.parametrize("name", RECIPES)
def test_bf16_is_near_fp32_and_not_the_same(world: World, name: str, tmp_path: Path) -> None:
    whole, _ = trained(world, name, tmp_path / "fp32", "cpu")
    half, _ = trained(world, name, tmp_path / "bf16", "cpu", ["training.precision=bf16"])
    assert half.losses[0] == pytest.approx(whole.losses[0], rel=0.05)
    assert half.losses != whole.losses
    assert all(part.dtype == torch.float32 for part in half.gradients.values())
    both = [torch.cat([p.flatten() for p in one.gradients.values()]) for one in (whole, half)]
    # Tiny crops in a deep network leave little of a gradient but its rounding.
    least = 0.7 if name.endswith("-e2e") else 0.9
    assert float(torch.cosine_similarity(*both, dim=0)) > least


def test_the_scale_of_gradients_is_kept_in_checkpoints(tmp_path: Path) -> None:
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(layer.parameters())
    scaler = gradient_scaler("fp16", CPU)
    for factor in (1.0, float("inf")):
        optimizer.zero_grad()
        scaler.scale(factor * layer(torch.ones(1, 2)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**15
    save_checkpoint(tmp_path, {"model": layer}, optimizer, Progress(update=2), scaler)
    fresh = gradient_scaler("fp16", CPU)
    load_checkpoint(tmp_path, {"model": layer}, optimizer, fresh)
    assert fresh.get_scale() == 2.0**15
    assert not gradient_scaler("bf16", CPU).is_enabled()


def test_a_run_goes_on_on_another_device_and_says_so(world: World, tmp_path: Path) -> None:
    trained(world, "nce", tmp_path / "run", "cpu")
    path = tmp_path / "run" / "checkpoint.safetensors"
    state, here = path.read_bytes(), rb"\"device\": \"cpu\""
    assert state.count(here) == 1
    path.write_bytes(state.replace(here, here.replace(b"cpu", b"mps")))
    longer = ["training.updates=4"]
    record, _ = trained(world, "nce", tmp_path / "run", "cpu", longer, resume=True)
    assert len(record.losses) == 2
    log = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert '"warning": "resumed on cpu after mps' in log
