"""Whole trainings on the toy dataset, and what comes out of them."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file

from polyglance.data import load_dataset
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import Callback, Result, Trainer, WriteCheckpoints, train
from polyglance.training.steps import StepOutcome
from tests.conftest import TOY


def run(
    data: Path,
    out: Path,
    *overrides: str,
    recipe: str = "vsepp",
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    small: Sequence[str] = TOY,
) -> Result:
    """Train a small form of a recipe, with `overrides` as `--set` takes them."""
    chosen = load_recipe(recipe, parse_overrides([*small, *overrides]), shared=True)
    cache = data.parent / "cache"
    return train(
        chosen, load_dataset(data), out, resume, cache, show_progress=False, callbacks=callbacks
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """What a run's model has learned."""
    return load_file(folder / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    """Whether two runs ended with the same weights, to the last bit."""
    first, second = weights(a), weights(b)
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


class StopAfter(Callback):
    """Interrupts a training after so many updates."""

    def __init__(self, updates: int) -> None:
        self.updates = updates

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        if trainer.done.update == self.updates:
            raise KeyboardInterrupt


def stop_after(updates: int) -> list[Callback]:
    """Interrupt a training once `updates` are done and in a checkpoint."""
    return [WriteCheckpoints(seconds=0.0), StopAfter(updates)]
