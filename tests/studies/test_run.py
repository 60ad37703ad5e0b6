"""Running a study in Python, as the command does."""

from pathlib import Path

import pytest

from polyglance.errors import ArgumentError
from polyglance.studies import StudyOptions, plan_states, run_study
from polyglance.studies.format.overrides import override_texts, read_changes
from polyglance.studies.packs import pack_files


def test_a_measured_study_from_its_plan_to_its_report(tmp_path: Path) -> None:
    options = StudyOptions(
        profile="quick",
        seeds=1,
        rows="interp*",
        overrides={"steps": 3},
        runs=tmp_path / "runs",
        pack=tmp_path / "runs.zip",
        show_progress=False,
    )
    before = plan_states("gpo-synthetic", options=options)
    assert {run.state for run in before.runs} == {"to run"}
    assert (before.todo, before.seconds, before.rough_seconds) == (5, None, None)
    assert not (tmp_path / "runs").exists()
    document = run_study("gpo-synthetic", options=options, out=tmp_path / "out")
    assert document.failures == []
    command = dict(document.about)["command"]
    assert "--profile quick --seeds 1 --jobs 1 --rows 'interp*' --set steps=3" in command
    assert (tmp_path / "out" / f"{document.name}.html").is_file()
    assert (tmp_path / "runs.zip").is_file()
    after = plan_states("gpo-synthetic", options=options)
    assert {run.state for run in after.runs} == {"cached"}
    assert after.as_dict()["runs"][0]["state"] == "cached"


def test_data_is_passed_to_studies_that_need_it() -> None:
    with pytest.raises(ArgumentError, match="with `data`"):
        plan_states("vsepp-languages")
    with pytest.raises(ArgumentError, match="leave out `data`"):
        plan_states("gpo-synthetic", "generated")


def test_packs_are_checked_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"`packs` .*: the folder has no \.zip file"):
        pack_files([tmp_path])
    with pytest.raises(ArgumentError, match=r"`pack` .*: must end in \.zip"):
        pack_files([], tmp_path / "runs.tar")
    (tmp_path / "a.zip").write_bytes(b"")
    assert pack_files([tmp_path], tmp_path / "a.zip") == [tmp_path / "a.zip"]
    assert pack_files([], tmp_path / "new.zip") == []


def test_overrides_are_texts_or_a_mapping() -> None:
    changes = {"training": {"lr": 0.1}, "data.languages": ["en", "no"], "text.pooling": "max"}
    texts = override_texts(changes)
    assert texts == ["training.lr=0.1", 'data.languages=["en", "no"]', "text.pooling=max"]
    assert override_texts(texts) == texts
    assert read_changes(texts) == read_changes(changes)
