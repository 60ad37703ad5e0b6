"""A pretrained encoder as text tower: padding, training, saving, resuming."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.text.embedders import TextBatch
from polyglance.training import Callback, Result, Trainer, WriteCheckpoints, train
from polyglance.training.steps import StepOutcome
from tests.text.pieces import TEXTS, piece_model, piece_recipe


def test_padding_changes_nothing(bert: Path) -> None:
    for pooling in ("mean", "gpo", "first"):
        made = piece_model(bert, f"text.pooling={pooling}")
        together = made.encode_text(TEXTS)
        alone = np.concatenate([made.encode_text(text) for text in TEXTS])
        np.testing.assert_allclose(together, alone, atol=1e-6)
    assert np.abs(together[0] - together[1]).max() > 1e-3


def test_values_past_a_length_change_nothing_in_training(bert: Path) -> None:
    tower = piece_model(bert).network.text.eval()
    ids = torch.randint(5, 20, (3, 7))
    lengths = torch.tensor([7, 2, 4])
    other = ids.clone()
    other[1, 2:], other[2, 4:] = 6, 9
    torch.testing.assert_close(tower(TextBatch(ids, lengths)), tower(TextBatch(other, lengths)))


def test_the_tower_starts_with_the_pretrained_weights(bert: Path) -> None:
    tower = piece_model(bert).network.text
    for name, value in load_file(bert / "model.safetensors").items():
        if "pooler" not in name:
            assert torch.equal(tower.encoder.state_dict()[name], value)
    assert not [name for name, _ in tower.named_parameters() if "pooler" in name]
    assert tower.projection.weight.shape == (16, 32)


def run(
    data: Path,
    out: Path,
    bert: Path,
    *overrides: str,
    resume: bool = False,
    stop: int | None = None,
) -> Result:
    recipe, dataset = piece_recipe(bert, "text.pooling=gpo", *overrides), load_dataset(data)
    callbacks = [] if not stop else [WriteCheckpoints(seconds=0.0), StopAfter(stop)]
    return train(recipe, dataset, out, resume, show_progress=False, callbacks=callbacks)


class StopAfter(Callback):
    """Interrupts a training after so many updates."""

    def __init__(self, updates: int) -> None:
        self.updates = updates

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        if trainer.done.update == self.updates:
            raise KeyboardInterrupt


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def test_trained_saved_and_loaded_without_the_source(toy: Path, tmp_path: Path, bert: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(bert, source)
    result = run(toy, tmp_path / "run", source, "training.epochs=10")
    assert min(result.progress.evaluations[-1]["mr"].values()) > 45
    before = load_file(source / "model.safetensors")["embeddings.word_embeddings.weight"]
    after = weights(tmp_path / "run")["text.encoder.embeddings.word_embeddings.weight"]
    assert 0 < float((before - after).abs().max()) < 0.5
    shutil.rmtree(source)
    (tmp_path / "run").rename(tmp_path / "moved")
    loaded = Model.load(tmp_path / "moved")
    np.testing.assert_allclose(
        result.model.encode_text(TEXTS), loaded.encode_text(TEXTS), atol=1e-6
    )
    loaded.save(tmp_path / "again")
    shutil.rmtree(tmp_path / "moved")
    again = Model.load(tmp_path / "again")
    np.testing.assert_allclose(loaded.encode_text(TEXTS), again.encode_text(TEXTS), atol=1e-6)


def test_runs_resume_to_the_same_bits(toy: Path, tmp_path: Path, bert: Path) -> None:
    run(toy, tmp_path / "whole", bert, "training.epochs=2")
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", bert, "training.epochs=2", stop=9)
    run(toy, tmp_path / "cut", bert, "training.epochs=2", resume=True)
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys()
    assert all(torch.equal(value, cut[name]) for name, value in whole.items())
