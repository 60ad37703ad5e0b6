"""Folders of runs: new ones, those to go on with, and those of something else."""

from pathlib import Path

import pytest

from polyglance.data import load_dataset, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.training import Callback, Trainer
from polyglance.training.folder import run_fingerprint
from polyglance.training.steps import StepOutcome
from tests.text.subword_models import sentence_recipe
from tests.training.runs import StopAfter, run, same


@pytest.fixture
def trained(toy: Path, tmp_path: Path) -> Path:
    run(toy, tmp_path / "run", "training.updates=2")
    return tmp_path / "run"


def test_a_run_is_not_overwritten_nor_resumed_with_another_recipe(toy: Path, trained: Path) -> None:
    with pytest.raises(PolyglanceError, match="--resume"):
        run(toy, trained, "training.updates=2")
    with pytest.raises(PolyglanceError, match="a different recipe"):
        run(toy, trained, "training.lr=0.02", resume=True)
    (trained / "model.json").write_text("[]")
    with pytest.raises(PolyglanceError, match="does not describe a run"):
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


@pytest.mark.parametrize("files", [["vocabulary.json"], [".model.json.abcdefgh"], []])
def test_a_run_killed_in_the_first_second_can_be_resumed(
    toy: Path, tmp_path: Path, files: list[str]
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name in files:
        (out / name).write_text("{")
    if files == ["vocabulary.json"]:
        with pytest.raises(
            PolyglanceError, match="an unfinished run is there; continue it with --resume"
        ):
            run(toy, out, "training.updates=2")
    run(toy, out, "training.updates=2", resume=True)
    run(toy, tmp_path / "alone", "training.updates=2")
    assert same(out, tmp_path / "alone")


def test_the_description_is_the_first_file_of_a_run(toy: Path, tmp_path: Path) -> None:
    """A kill behind it leaves a run; what it left half-written is gone after the next start."""
    out = tmp_path / "run"

    def stop(*arguments: object) -> None:
        (out / ".vocabulary.json.a1b2c3d4").write_text("half")
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyglance.text.embedders.table.TableEmbedder.save", stop)
        with pytest.raises(KeyboardInterrupt):
            run(toy, out, "training.updates=2")
    assert sorted(path.name for path in out.iterdir() if path.suffix == ".json") == ["model.json"]
    run(toy, out, "training.updates=2", resume=True)
    assert not (out / ".vocabulary.json.a1b2c3d4").exists()


def test_what_a_recipe_lacks_is_named_with_the_command_that_makes_it(
    toy: Path, tmp_path: Path
) -> None:
    data = load_dataset(str(toy))
    for change, message in (
        ("sampling.beside={data: emoji}", r"in sampling\.beside\.data; .*'polyglance data emoji'"),
        ("sampling.text_files=[words.jsonl]", r"in sampling\.text_files; 'polyglance data words'"),
        ("data.more=[more.jsonl]", r"in data\.more"),
    ):
        recipe = sentence_recipe("sampling.kind=images", change)
        with pytest.raises(PolyglanceError, match=f"no such .*, but the recipe has it {message}"):
            run_fingerprint(recipe, data)


class Fails(Callback):
    """An error after some updates."""

    def __init__(self, updates: int) -> None:
        self.updates = updates

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        if trainer.done.update == self.updates:
            raise PolyglanceError("failed")


def test_a_run_that_fails_before_its_first_checkpoint_is_removed(toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    with pytest.raises(PolyglanceError, match="failed"):
        run(toy, out, callbacks=[Fails(1)])
    assert not list(out.iterdir())
    run(toy, out, "training.batch_size=16", "training.updates=2")


def test_a_run_that_fails_after_a_checkpoint_stays(toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(PolyglanceError, match="failed"):
        run(toy, out, "training.updates=3", "training.evaluate_every=1", callbacks=[Fails(2)])
    run(toy, out, "training.updates=3", "training.evaluate_every=1", resume=True)
    run(toy, tmp_path / "whole", "training.updates=3", "training.evaluate_every=1")
    assert same(out, tmp_path / "whole")


def test_a_resumed_run_that_fails_leaves_what_was_there(toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(toy, out, callbacks=[StopAfter(1)])
    before = {path.name for path in out.iterdir()}
    assert "model.json" in before
    with pytest.raises(PolyglanceError, match="failed"):
        run(toy, out, callbacks=[Fails(1)], resume=True)
    assert {path.name for path in out.iterdir()} >= before
