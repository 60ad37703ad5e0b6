"""Which device is meant, and what is told where it cannot be used."""

import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from polyglance import Model
from polyglance.cli import main
from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import choose_device, explain_out_of_memory, move
from polyglance.text.embedders.encoded import TextBatch
from polyglance.training.steps import TermsStep
from tests.conftest import TOY
from tests.training.runs import run


def have(monkeypatch: pytest.MonkeyPatch, cuda: int = 0, mps: int = 0) -> None:
    counts = {"cpu": 1, "cuda": cuda, "mps": mps}
    monkeypatch.setattr("polyglance.numerics.devices.count_devices", counts.__getitem__)


@pytest.mark.parametrize(
    ("cuda", "mps", "best"), [(0, 0, "cpu"), (0, 1, "mps"), (2, 0, "cuda:0"), (1, 1, "cuda:0")]
)
def test_auto_takes_the_best_there_is(
    monkeypatch: pytest.MonkeyPatch, cuda: int, mps: int, best: str
) -> None:
    have(monkeypatch, cuda, mps)
    assert str(choose_device("auto")) == best


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, cuda=2, mps=1)
    named = ["cpu", "cuda", "cuda:1", "mps", torch.device("cuda", 1)]
    found = [str(choose_device(name)) for name in named]
    assert found == ["cpu", "cuda:0", "cuda:1", "mps", "cuda:1"]
    assert str(choose_device("cuda", index=1)) == "cuda:1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "device 'gpu': expected auto"),
        ("cpu:1", "device 'cpu:1': expected"),
        ("cuda:", "device 'cuda:': expected"),
        ("cuda:x", "device 'cuda:x': expected"),
        ("cuda:2", "this machine has no such GPU; use cuda:0 to cuda:1"),
        ("mps", "this machine has no Metal device, or torch .* without it; use --device cpu"),
    ],
)
def test_missing_devices_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    have(monkeypatch, cuda=2)
    with pytest.raises(PolyglanceError, match=message):
        choose_device(name)


def test_tensors_are_moved_wherever_they_are() -> None:
    class Pair(NamedTuple):
        first: object
        second: object

    meta = torch.device("meta")
    batch = TextBatch(torch.zeros(1, 2), torch.ones(1))
    found = move(Pair([batch, "text"], {"a": (torch.zeros(3), None, 2)}), meta)
    assert isinstance(found, Pair)
    assert found.first[0].ids.device == found.first[0].lengths.device == meta
    assert found.first[1] == "text"
    assert found.second["a"][0].device == meta
    assert found.second["a"][1:] == (None, 2)


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried to …")]
)
def test_exhausted_memory_is_an_error_with_the_remedy(error: Exception) -> None:
    with (
        pytest.raises(PolyglanceError, match="not enough memory on cuda:0; lower it"),
        explain_out_of_memory("cuda:0", "lower it"),
    ):
        raise error
    with pytest.raises(RuntimeError, match="other"), explain_out_of_memory("cuda:0", "lower it"):
        raise RuntimeError("other")


def test_a_training_that_does_not_fit_says_what_to_lower(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(TermsStep, "outcome", exhausted)
    remedy = "lower training.batch_size, which is 32, or set training.precision=bf16"
    with pytest.raises(PolyglanceError, match=f"not enough memory on cpu; {remedy}"):
        run(toy, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.undo()
    run(toy, tmp_path / "run", "training.batch_size=16", "training.updates=1")


COMMANDS = {
    "train": ["train", "nce", "--data", "DATA", "--out", "OUT"],
    "evaluate": ["evaluate", "RUN", "--data", "DATA"],
    "search": ["search", "RUN", "DATA", "dog"],
    "features": ["features", "IMAGES"],
    "study": ["study", "STUDY.yaml", "--data", "DATA", "--out", "OUT"],
    "add-language": ["add-language", "RUN", "--language", "nl", "--out", "OUT"],
}


STUDY = """
title: "A row"
paper: none
columns: [{language: en, metric: rsum}]
overrides: {image.feature: imported/toy}
rows: [{name: nce, recipe: nce, baseline: true}]
profiles: {standard: {seeds: 1}}
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a run."""
    from PIL import Image

    from tests.conftest import write_toy

    folder = tmp_path_factory.mktemp("trained")
    run(write_toy(folder / "DATA", 32), folder / "RUN", "training.updates=1")
    (folder / "STUDY.yaml").write_text(STUDY)
    (folder / "IMAGES").mkdir()
    Image.new("RGB", (8, 8)).save(folder / "IMAGES" / "a.png")
    return folder


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_device_that_is_not_there(
    command: str,
    trained: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(trained)
    monkeypatch.setattr(sys, "argv", ["polyglance", *COMMANDS[command], "--device", "cuda"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    told = capsys.readouterr().err
    assert "error: device 'cuda': this machine has no GPU that CUDA can use" in told
    assert not (trained / "OUT").exists()


def test_fp16_on_a_cpu_is_refused(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [part for one in TOY for part in ("--set", one)]
    asked = ["--set", "training.precision=fp16", "--device", "cpu", "--out", str(tmp_path / "run")]
    monkeypatch.setattr(
        sys, "argv", ["polyglance", "train", "vsepp", "--data", str(toy), *sets, *asked]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "training.precision=fp16 is for GPUs" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_model_knows_where_it_is(trained: Path) -> None:
    model = Model.load(trained / "RUN", device="cpu")
    assert model.to("cpu") is model
    assert model.device == torch.device("cpu")
