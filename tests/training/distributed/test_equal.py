"""Two processes train what one does: the same losses, weights and recalls."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.conftest import write_toy
from tests.training.beside import write_sentences, write_things
from tests.training.coloured import write_coloured
from tests.training.distributed.cases import CASES, train_cases
from tests.training.distributed.processes import torchrun
from tests.training.runs import same, weights

SCRIPT = str(Path(__file__).with_name("equal.py"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of all cases, of `one` process and of `two`."""
    folder = tmp_path_factory.mktemp("ranks")
    write_toy(folder / "toy")
    write_toy(folder / "sets", form="set")
    write_coloured(folder / "files")
    write_sentences(folder / "texts.jsonl.gz")
    write_things(folder / "things")
    done = torchrun(SCRIPT, str(folder), str(folder / "two"), *CASES)
    assert done.returncode == 0, done.stderr
    torch.set_num_threads(1)
    train_cases(folder, folder / "one", list(CASES))
    return folder


def kept(folder: Path, case: str, rank: int = 0) -> tuple[np.ndarray, list[dict]]:
    losses, evaluations = json.loads((folder / f"{case}-{rank}.json").read_text())
    return np.array(losses), evaluations


@pytest.mark.parametrize("case", CASES)
def test_two_processes_train_what_one_does(trained: Path, case: str) -> None:
    one, two = kept(trained / "one", case), kept(trained / "two", case)
    np.testing.assert_allclose(two[0], one[0], rtol=1e-5, atol=1e-5)
    first, second = weights(trained / "one" / case), weights(trained / "two" / case)
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=1e-5, atol=1e-5, msg=name)
    # Recalls may differ where scores are as good as equal, not otherwise.
    assert one[1][-1]["update"] == two[1][-1]["update"]
    assert one[1][-1]["rsum"] == pytest.approx(two[1][-1]["rsum"], abs=20)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_one_process(trained: Path, case: str) -> None:
    """Adam would hide a wrong factor. What has no gradient in one process has none in two."""
    one, two = (load_file(trained / n / f"{case}-0.safetensors") for n in ("one", "two"))
    assert one.keys() == two.keys()
    largest = max(float(gradient.abs().max()) for gradient in one.values())
    for name, gradient in one.items():
        # Weights that differ in their last bits have other gradients after some updates.
        tolerance = (1e-5 if name.startswith("1 ") else 1e-3) * max(largest, 1)
        torch.testing.assert_close(two[name], gradient, rtol=1e-4, atol=tolerance, msg=name)


@pytest.mark.parametrize("case", CASES)
def test_all_ranks_have_the_same_losses_and_recalls(trained: Path, case: str) -> None:
    first, second = (kept(trained / "two", case, rank) for rank in range(2))
    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]


def test_an_interrupted_run_drops_out_the_same_units(trained: Path) -> None:
    assert same(trained / "two" / "whole", trained / "two" / "cut")
    assert not same(trained / "two" / "whole", trained / "two" / "max")
