"""Captions that cannot be evaluated are named."""

from pathlib import Path

import pytest

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate
from tests.conftest import write_toy
from tests.training.inputs.test_data import spoil
from tests.training.runs import run


def test_a_caption_without_words_is_named(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "toy")
    run(toy, tmp_path / "run", "training.updates=2")
    line = spoil(toy, "test", "?!")
    model, dataset = Model.load(tmp_path / "run"), load_dataset(toy)
    with pytest.raises(PolyglanceError, match=rf"gz, line {line}: captions\.de\.independent has"):
        evaluate(model, dataset, show_progress=False)
    assert [r.language for r in evaluate(model, dataset, languages=["en"]).results] == ["en"]
