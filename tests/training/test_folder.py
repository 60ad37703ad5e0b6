"""Folders of runs: new ones, those to go on with, and those of something else."""

from pathlib import Path

import pytest

from polyglance.data import load_folder, save_folder
from polyglance.errors import PolyglanceError
from tests.training.runs import run


@pytest.fixture
def trained(toy: Path, tmp_path: Path) -> Path:
    run(toy, tmp_path / "run", "training.updates=2")
    return tmp_path / "run"


def test_a_run_is_not_overwritten_nor_resumed_with_another_recipe(toy: Path, trained: Path) -> None:
    with pytest.raises(PolyglanceError, match="--resume"):
        run(toy, trained, "training.updates=2")
    with pytest.raises(PolyglanceError, match="another recipe"):
        run(toy, trained, "training.lr=0.02", resume=True)
    (trained / "model.json").write_text("[]")
    with pytest.raises(PolyglanceError, match="not the description of a run"):
        run(toy, trained, resume=True)


def test_a_run_of_other_captions_is_not_resumed(toy: Path, trained: Path) -> None:
    rows = load_folder(toy).images
    for row in rows:
        row.captions["en"]["independent"].append("entirely new words")
    save_folder(toy, rows)
    with pytest.raises(PolyglanceError, match="captions have changed"):
        run(toy, trained, "training.updates=2", resume=True)


def test_a_folder_of_other_things_is_left_as_it_was(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(PolyglanceError, match="not empty and not a run"):
            run(toy, tmp_path / "letters", resume=resume)
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["letter.txt"]
