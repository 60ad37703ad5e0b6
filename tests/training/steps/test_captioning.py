"""Trainings that also generate captions: VSRN's own loss, of which the model keeps nothing."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import Callback, Trainer
from polyglance.training.steps import StepOutcome
from tests.conftest import TOY, write_toy
from tests.training.runs import run, same, stop_after, weights

SMALL = [
    *TOY,
    "captioning.hidden=8",
    "captioning.word_dim=8",
    "loss.warmup_epochs=1",
    "training.patience=50",
]


class Losses(Callback):
    """The loss of writing captions, at every update."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        equal = trainer.step.objective.collapsed_value(size, trainer.done.update <= 4)
        self.values.append(outcome.collapsed - equal)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("captioning") / "toy", form="set")


def test_the_recipe_is_the_papers() -> None:
    recipe = load_recipe("vsrn")
    assert recipe.captioning is not None
    assert recipe.captioning.weight == 1.0
    assert (recipe.captioning.hidden, recipe.captioning.word_dim) == (512, 300)
    assert recipe.loss.warmup(100) == 0


def test_training_lowers_the_loss_and_the_model_keeps_nothing_of_it(
    data: Path, tmp_path: Path
) -> None:
    losses = Losses()
    long = "training.epochs=12"
    result = run(data, tmp_path / "a", long, recipe="vsrn", small=SMALL, callbacks=[losses])
    assert sum(losses.values[-5:]) < 0.6 * sum(losses.values[:5])
    without = run(data, tmp_path / "b", long, "captioning=null", recipe="vsrn", small=TOY)
    assert weights(tmp_path / "a").keys() == weights(tmp_path / "b").keys()
    assert result.model.parameters() == without.model.parameters()
    images, texts = tmp_path / "a", ["a red dog"]
    assert Model.load(images).encode_text(texts, "en").shape == (1, 16)
    # What writes captions is in the checkpoint alone, and did something to the towers.
    with safe_open(tmp_path / "a" / "checkpoint.safetensors", "pt") as handle:
        assert any(name.startswith("captioning.") for name in handle.keys())  # noqa: SIM118
    first, second = weights(tmp_path / "a"), weights(tmp_path / "b")
    assert not torch.equal(first["image.head.weight"], second["image.head.weight"])


def test_a_killed_run_resumes_bit_identically(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "whole", recipe="vsrn", small=SMALL)
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "cut", recipe="vsrn", small=SMALL, callbacks=stop_after(5))
    run(data, tmp_path / "cut", recipe="vsrn", small=SMALL, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_other_poolings_generate_captions_too(data: Path, tmp_path: Path) -> None:
    losses = Losses()
    changes = ["image.pooling=gpo", "captioning.dropout=0", "training.epochs=8"]
    run(data, tmp_path / "run", *changes, recipe="vsrn", small=SMALL, callbacks=[losses])
    assert losses.values[-1] < losses.values[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["text.embedder.ends=false"], "from <start> to <end>"),
        (["text.embedder.kind=liwe"], "words of one table"),
        (["joint.similarity.kind=scan", "image.pooling=mean"], "or cross-attention"),
    ],
)
def test_conflicting_settings_are_refused(changes: list[str], message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("vsrn", parse_overrides(changes))


def test_one_vector_per_image_is_refused(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"needs several .*/toy has one: .*captioning=null"):
        run(toy, tmp_path / "run", recipe="vsrn", small=SMALL)
