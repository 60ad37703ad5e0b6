"""Runs of version 0.1.0, as that version wrote them (tests/v0_1_0/runs), are found again.

All but the row of SMALR, whose assignment of latent tokens has changed since.
"""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.studies import load_study, make_plan
from polyglance.studies.keys.revisions import revisions
from polyglance.studies.plan import DataFacts
from polyglance.studies.running.migrate import migrate_runs

HERE = Path(__file__).parents[2] / "v0_1_0"
REVISED = "a41be67d9af8dd7d313fb118"
STUDY, DATA, RUNS = HERE / "study.yaml", HERE / "data" / "global", HERE / "runs"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    shutil.copytree(RUNS, tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture(scope="module")
def facts() -> DataFacts:
    return DataFacts.of(load_dataset(str(DATA)), "test")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def planned(facts: DataFacts) -> set[str]:
    return set(make_plan(load_study(str(STUDY)), facts=facts).runs)


def dependent(folder: Path) -> Path:
    """The run that starts from another one."""
    return next(
        path.parent
        for path in folder.glob("*/run.json")
        if "run:" in str((json.loads(path.read_text())["recipe"]["transfer"] or {}).get("source"))
    )


def test_runs_get_the_keys_that_are_planned_today(runs: Path, facts: DataFacts) -> None:
    assert migrate_runs(runs, facts) == 3
    assert len(names(runs) & planned(facts)) == 3
    assert names(runs) - planned(facts) == {REVISED}
    found = names(runs)
    assert migrate_runs(runs, facts) == 0
    assert names(runs) == found


def test_a_run_that_a_change_of_the_package_made_wrong_is_run_again(facts: DataFacts) -> None:
    plan = make_plan(load_study(str(STUDY)), facts=facts)
    wrong = [run for run in plan.runs.values() if run.recipe and revisions(run.recipe)]
    assert [run.label for run in wrong] == ["smalr, seed 0"]
    assert set(revisions(wrong[0].recipe)) == {"latent tokens", "tuples"}


def test_the_command_trains_nothing_again(runs: Path, tmp_path: Path) -> None:
    before = {path.read_bytes() for path in runs.glob("*/model/model.safetensors")}
    words = ["study", str(STUDY), "--data", str(DATA), "--runs", str(runs)]
    words += ["--rows", "nce,moved", "--cache", str(tmp_path / "cache")]
    words += ["--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "3 runs with keys of earlier versions found again" in result.output
    assert "done in" not in result.output
    after = {path.read_bytes() for path in runs.glob("*/model/model.safetensors")}
    assert after == before
    report = json.loads((tmp_path / "out" / "study.json").read_text())
    assert "moved" in json.dumps(report)
    again = CliRunner().invoke(app, [*words[:-2], "--plan"])
    assert "found again" not in again.output
    assert again.output.count("cached") == 3


def test_a_run_names_its_source_by_the_new_key(runs: Path, facts: DataFacts) -> None:
    migrate_runs(runs, facts)
    folder = dependent(runs)
    for path in (folder / "run.json", folder / "model" / "model.json"):
        source = json.loads(path.read_text())["recipe"]["transfer"]["source"]
        assert (runs / source.removeprefix("run:")).is_dir()
    assert Model.load(folder / "model").languages == ["de"]


def test_an_interrupted_migration_is_completed(
    runs: Path, facts: DataFacts, tmp_path: Path
) -> None:
    late = tmp_path / "late"
    folder = dependent(runs)
    shutil.move(folder, late)
    assert migrate_runs(runs, facts) == 2
    shutil.move(late, folder)
    for path in runs.iterdir():  # described anew, not yet renamed
        if path not in (folder, runs / REVISED):
            path.rename(path.with_name(json.loads((path / "run.json").read_text())["was"]))
    assert migrate_runs(runs, facts) == 3
    assert names(runs) - {REVISED} < planned(facts)


def test_a_run_without_its_source_stays(runs: Path, facts: DataFacts) -> None:
    folder = dependent(runs)
    source = json.loads((folder / "run.json").read_text())["recipe"]["transfer"]["source"]
    shutil.rmtree(runs / source.removeprefix("run:"))
    assert migrate_runs(runs, facts) == 1
    assert folder.is_dir()


def test_a_run_that_was_out_of_date_stays(runs: Path, facts: DataFacts) -> None:
    folder = dependent(runs)
    folder.rename(runs / "000000000000000000000000")
    assert migrate_runs(runs, facts) == 2
    assert (runs / "000000000000000000000000").is_dir()


def test_runs_on_other_features_stay(runs: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(DATA, data)
    vectors = data / "features" / "toy" / "vectors.f16"
    vectors.write_bytes(vectors.read_bytes()[::-1])
    before = names(runs)
    assert migrate_runs(runs, DataFacts.of(load_dataset(str(data)), "test")) == 0
    assert names(runs) == before
