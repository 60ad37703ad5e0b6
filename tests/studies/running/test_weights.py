"""Which finished runs are trained again because their weights are not here."""

from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.studies import Study, make_plan
from polyglance.studies.plan import DataFacts, Plan
from polyglance.studies.running.execute import Options, _stages, pending, retrained_runs
from polyglance.studies.running.store import CRASH, WEIGHTS, RunOutcome
from polyglance.studies.running.worker import perform
from tests.conftest import write_toy
from tests.studies.planted import facts, plant
from tests.studies.running.test_sources import VALUE

ENSEMBLE = {
    "title": "Planted",
    "paper": "nobody",
    "columns": [{"language": "en"}],
    "rows": [
        {"name": "a", "recipe": "vsepp"},
        {"name": "b", "recipe": "nce"},
        {"name": "both", "ensemble": ["a", "b"]},
    ],
    "profiles": {"standard": {"seeds": 1}},
}


def test_the_file_is_called_as_models_call_it() -> None:
    from polyglance.models import folder
    from polyglance.studies.running import store

    assert (folder.WEIGHTS, folder.NO_WEIGHTS) == (store.WEIGHTS, store.NO_WEIGHTS)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("data") / "toy")


@pytest.fixture
def curves(data: Path) -> Plan:
    known = DataFacts.of(load_dataset(str(data)), "test")
    return make_plan(Study.model_validate(VALUE), "standard", known, 1)


def label(plan: Plan, key: str) -> str:
    return plan.runs[key].labels[0]


def test_the_source_of_a_run_to_do_is_trained_again(curves: Plan, tmp_path: Path) -> None:
    options = Options("", tmp_path)
    (source,) = (run for run in curves.runs.values() if run.source is None)
    options.folder(source).finish(RunOutcome(1.0))
    others = [run for run in curves.runs.values() if run is not source]
    (key,) = again = retrained_runs(curves, options)
    assert key == source.key
    assert again[key].endswith(", seed 0, which starts from it")
    assert _stages(pending(curves, options)) == [[source], others]
    (options.folder(source).model / WEIGHTS).parent.mkdir()
    (options.folder(source).model / WEIGHTS).touch()
    assert retrained_runs(curves, options) == {}
    assert pending(curves, options) == others


def test_a_source_that_no_run_needs_any_more_stays(curves: Plan, tmp_path: Path) -> None:
    options = Options("", tmp_path)
    for run in curves.runs.values():
        options.folder(run).finish(RunOutcome(1.0))
        run.needs.clear()
    assert retrained_runs(curves, options) == {}
    assert pending(curves, options) == []


def test_a_run_without_weights_that_lacks_a_result_needs_its_source(
    curves: Plan, tmp_path: Path
) -> None:
    options = Options("", tmp_path, rows="T2")
    for run in curves.runs.values():
        options.folder(run).finish(RunOutcome(1.0))
    again = {label(curves, key): why for key, why in retrained_runs(curves, options).items()}
    assert set(again) == {"source en, seed 0", "T2, 0, seed 0", "T2, 20, seed 0"}
    assert again["T2, 0, seed 0"] == "to evaluate it on de as this study does"


def test_the_members_of_an_ensemble_to_do_are_trained_again(tmp_path: Path) -> None:
    known, options = facts(30), Options("", tmp_path)
    plan = make_plan(Study.model_validate(ENSEMBLE), "standard", known)
    plant(plan, known, options, lambda run, language: 0.5)
    assert pending(plan, options) == []
    (joined,) = (run for run in plan.runs.values() if run.members)
    (options.folder(joined).path / "results" / "test.best.en.json").unlink()
    again = {label(plan, key): why for key, why in retrained_runs(plan, options).items()}
    why = "for both, seed 0, which averages it"
    assert again == {"a, seed 0": why, "b, seed 0": why}
    assert pending(plan, options) == list(plan.runs.values())


def test_a_worker_says_that_the_weights_of_a_source_are_not_here(
    curves: Plan, data: Path, tmp_path: Path
) -> None:
    from polyglance.studies.running.execute import _task

    options = Options(str(data), tmp_path)
    run = next(run for run in curves.runs.values() if run.source is not None)
    source = options.folder(curves.runs[run.source])
    source.finish(RunOutcome(1.0))
    reason = perform(_task(run, curves, options, 1))
    assert reason == (
        f"the weights of the run it starts from, {run.source}, are missing; delete {source.path}"
    )
    assert options.folder(run).failure().kind == CRASH
