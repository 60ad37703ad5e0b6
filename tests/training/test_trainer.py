"""Training: the same bits every time, after a kill too."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import train, trainer
from polyglance.training.collapse import CollapseDetector
from tests.conftest import TOY, write_toy


def run(data: Path, out: Path, *overrides: str, recipe: str = "vsepp", resume: bool = False):
    chosen = load_recipe(recipe, parse_overrides([*TOY, *overrides]), shared=True)
    return train(chosen, load_dataset(data), out, resume, show_progress=False)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    first, second = weights(a), weights(b)
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


@pytest.mark.parametrize("recipe", ["vse0", "vsepp", "order", "nce"])
def test_every_recipe_learns_in_both_languages(toy: Path, tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "run"
    result = run(toy, out, "training.epochs=12", "training.warmup_updates=0", recipe=recipe)
    # 20 photographs are judged, and many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 60
    assert Model.load(out).languages == ["de", "en"]
    assert (out / "curve.png").stat().st_size > 1000
    assert list((out / "tensorboard").iterdir())


def test_one_seed_gives_the_same_bits_and_another_does_not(toy: Path, tmp_path: Path) -> None:
    dropout = "text.word_dropout=0.3"
    run(toy, tmp_path / "a", dropout)
    run(toy, tmp_path / "b", dropout)
    run(toy, tmp_path / "c", dropout, "training.seed=1")
    assert same(tmp_path / "a", tmp_path / "b")
    assert not same(tmp_path / "a", tmp_path / "c")


KILLED = """
import sys, os, signal
from pathlib import Path
from polyglance.training import trainer
from tests.training.runs import run
trainer.CHECKPOINT_SECONDS = 0.0
step = trainer._Trainer._update
def update(self, rows, bar):
    step(self, rows, bar)
    if self.done.update == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
trainer._Trainer._update = update
run(Path(sys.argv[1]), Path(sys.argv[2]), "text.word_dropout=0.3", "training.evaluate_every=4")
"""


@pytest.mark.parametrize("update", [3, 15, 16])
def test_a_killed_run_resumes_to_the_same_bits(toy: Path, tmp_path: Path, update: int) -> None:
    settings = ("text.word_dropout=0.3", "training.evaluate_every=4")
    torch.set_num_threads(1)
    run(toy, tmp_path / "whole", *settings)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", KILLED, str(toy), str(tmp_path / "killed"), str(update)]
    root = Path(__file__).parents[2]
    dead = subprocess.run(command, env=environment, cwd=root, capture_output=True, check=False)
    assert dead.returncode == -signal.SIGKILL, dead.stderr.decode()
    resumed = run(toy, tmp_path / "killed", *settings, resume=True)
    assert same(tmp_path / "whole", tmp_path / "killed")
    assert resumed.progress.finished == "all 3 epochs done"

    def rows(name: str) -> list[dict]:
        lines = (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines if "rsum" in line]

    assert rows("whole") == rows("killed")


def test_resuming_a_finished_run_changes_nothing(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "run")
    before = weights(tmp_path / "run")
    again = run(toy, tmp_path / "run", resume=True)
    assert again.progress.finished
    assert all(torch.equal(before[k], v) for k, v in weights(tmp_path / "run").items())


def test_a_run_is_not_overwritten_nor_resumed_with_another_recipe(
    toy: Path, tmp_path: Path
) -> None:
    run(toy, tmp_path / "run")
    with pytest.raises(PolyglanceError, match="--resume"):
        run(toy, tmp_path / "run")
    with pytest.raises(PolyglanceError, match="another recipe"):
        run(toy, tmp_path / "run", "training.lr=0.02", resume=True)
    with pytest.raises(PolyglanceError, match="captions have changed"):
        run(write_toy(tmp_path / "new", photos=80), tmp_path / "run", resume=True)
    (tmp_path / "run" / "model.json").write_text("[]")
    with pytest.raises(PolyglanceError, match="not the description of a run"):
        run(toy, tmp_path / "run", resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(PolyglanceError, match="not empty"):
        run(toy, tmp_path / "other")


def test_patience_stops_and_the_best_weights_stay(toy: Path, tmp_path: Path) -> None:
    result = run(
        toy, tmp_path / "run", "training.epochs=40", "training.patience=2", "training.lr=0.05"
    )
    assert result.progress.finished == "no better rsum in 2 evaluations"
    values = {e["update"]: e["rsum"] for e in result.progress.evaluations}
    assert values[result.progress.best_update] == max(values.values())


def test_a_length_in_updates_replaces_epochs(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", "training.epochs=1", "training.updates=17")
    assert result.progress.update == 17
    assert result.progress.finished == "all 17 updates done"


def test_warm_up_in_updates_is_that_in_epochs(toy: Path, tmp_path: Path) -> None:
    length = ("training.epochs=2", "loss.kind=max-hinge")
    epochs = run(toy, tmp_path / "epochs", *length, "loss.warmup_epochs=1")
    one = epochs.progress.update // 2
    run(toy, tmp_path / "updates", *length, "loss.warmup_epochs=0", f"loss.warmup_updates={one}")
    run(toy, tmp_path / "less", *length, "loss.warmup_epochs=0", f"loss.warmup_updates={one - 1}")
    assert same(tmp_path / "epochs", tmp_path / "updates")
    assert not same(tmp_path / "epochs", tmp_path / "less")


def test_collapse_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures that look alike leave max-of-hinges nothing better than equal scores."""
    toy = write_toy(tmp_path / "toy", planted=0.0)
    monkeypatch.setattr(trainer, "CollapseDetector", lambda: CollapseDetector(patience=20))
    cold = ("loss.warmup_epochs=0", "training.epochs=50", "training.evaluate_every=9999")
    with pytest.raises(PolyglanceError, match=r"collapsed: for 20 updates .* \(12\.80\)"):
        run(toy, tmp_path / "run", *cold)
    warned = run(
        toy, tmp_path / "warned", *cold[:1], "training.epochs=10", "training.collapse=warn"
    )
    assert warned.progress.finished == "all 10 epochs done"


def test_divergence_is_told(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="diverged"):
        run(toy, tmp_path / "run", "training.lr=1e38", "training.clip=1e38")


def test_one_language_of_two(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", "data.languages=[de]")
    assert result.model.languages == ["de"]
    assert "dog" not in result.model.reader.of("de")
    assert list(result.progress.evaluations[-1]["mr"]) == ["de"]


def test_sets_of_vectors_train(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "sets", form="set")
    result = run(toy, tmp_path / "run", "image.standardise=true", "training.epochs=8")
    assert result.progress.evaluations[-1]["mr"]["en"] > 50


def test_statistics_leave_padding_out(tmp_path: Path) -> None:
    import numpy as np

    toy = write_toy(tmp_path / "sets", form="set")
    result = run(toy, tmp_path / "run", "image.standardise=true", "training.epochs=1")
    stored = load_dataset(toy).split("train")
    from polyglance.vision.extract import load_features

    features = load_features(stored, "imported/toy")
    vectors = np.concatenate([features.store.get(key) for key in features.keys]).astype(np.float64)
    tower = result.model.network.image
    np.testing.assert_allclose(tower.mean.numpy(), vectors.mean(0), atol=1e-4)
    np.testing.assert_allclose(float(tower.scale), vectors.std(0).mean(), atol=1e-4)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data.languages=[fr]"], "no captions in language 'fr'"),
        (["data.kinds=[machine]"], "no captions of the languages and kinds"),
        (["data.validation_split=dev"], "no split 'dev'"),
        (["image.feature=imported/regions"], "no imported features 'regions'"),
        (["image.feature=efficientnet-lite2/global"], "has no pictures to compute"),
        (["text.tokenizer=wrods"], "did you mean 'words'"),
        (["text.pooling=lst"], "did you mean 'last'"),
        (["loss.kind=infonse"], "did you mean 'infonce'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    toy: Path, tmp_path: Path, overrides: list[str], message: str
) -> None:
    with pytest.raises(PolyglanceError, match=message) as told:
        run(toy, tmp_path / "run", *overrides)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


def test_pictures_that_are_all_missing_are_told(toy: Path, tmp_path: Path) -> None:
    (toy / "images").mkdir()
    with pytest.raises(PolyglanceError, match=r"none of the .* training pictures can be read"):
        run(toy, tmp_path / "run", "image.feature=efficientnet-lite2/global")


def test_a_caption_of_punctuation_is_named_with_its_line(toy: Path, tmp_path: Path) -> None:
    import gzip

    path = toy / "captions.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    row = json.loads(lines[2])
    row["captions"]["en"]["independent"].append("?!")
    lines[2] = json.dumps(row)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(PolyglanceError, match=r"line 3: captions\.en\.independent holds '\?!'"):
        run(toy, tmp_path / "run")


def test_checkpoints_are_written_between_evaluations(
    toy: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    started = time.time()
    run(toy, tmp_path / "run", "training.epochs=1")
    assert (tmp_path / "run" / "checkpoint.safetensors").stat().st_mtime >= started - 1
