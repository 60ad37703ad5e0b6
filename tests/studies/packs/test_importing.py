"""Runs out of packs: as they were written, by key, beside what is here already."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from polyglance.storage.files import write_json
from polyglance.studies import Study, make_plan
from polyglance.studies.packs import import_runs, write_pack
from polyglance.studies.packs.content import Pack
from polyglance.studies.plan import DataFacts, Plan
from polyglance.studies.running.execute import Options, estimate, pending, retrained_runs
from polyglance.studies.running.machine import cpu_model
from polyglance.studies.running.store import MISTAKE, RunOutcome
from tests.studies.packs.test_hostile import STUDY
from tests.studies.planted import facts, plant


@pytest.fixture(scope="module")
def known() -> DataFacts:
    return facts(30)


def made(known: DataFacts, columns: list | None = None, seeds: int = 2) -> Plan:
    value = {**STUDY, "columns": columns or STUDY["columns"]}
    return make_plan(Study.model_validate(value), "standard", known, seeds)


BOTH = [{"language": "en"}, {"language": "de"}]


@pytest.fixture
def pack(known: DataFacts, tmp_path: Path) -> Path:
    options, plan = Options("data", tmp_path / "there"), made(known)
    plant(plan, known, options, lambda run, language: 0.5)
    write_pack(tmp_path / "a.zip", plan, known, options)
    return tmp_path / "a.zip"


def test_a_run_is_imported_byte_for_byte(known: DataFacts, pack: Path, tmp_path: Path) -> None:
    plan, options = made(known), Options("data", tmp_path / "here")
    (taken,) = import_runs([pack], plan, known, options)
    assert taken.summary == f"{pack}: 2 finished runs imported"
    assert pending(plan, options) == []
    for run in plan.runs.values():
        for name in ("done.json", "results/test.best.en.json"):
            there, here = (tmp_path / place / run.key / name for place in ("there", "here"))
            assert here.read_bytes() == there.read_bytes()
    (again,) = import_runs([pack], plan, known, options)
    assert again.summary == f"{pack}: no run imported; it has 2 that already exist"


def test_a_pack_is_the_same_for_the_same_runs(known: DataFacts, pack: Path, tmp_path: Path) -> None:
    plan, options = made(known), Options("elsewhere", tmp_path / "here")
    import_runs([pack], plan, known, options)
    write_pack(tmp_path / "b.zip", plan, known, options)
    assert (tmp_path / "b.zip").read_bytes() == pack.read_bytes()
    assert str(tmp_path).encode() not in b"".join(
        json.dumps(one.identity).encode() for one in runs_of(pack)
    )


def runs_of(path: Path) -> list:
    with closing(Pack(path)) as pack:
        return [pack.read(key) for key in pack.keys]


def test_other_data_and_other_runs_are_reported(
    known: DataFacts, pack: Path, tmp_path: Path
) -> None:
    options, other = Options("data", tmp_path / "here"), facts(31)
    (taken,) = import_runs([pack], made(other), other, options)
    assert taken.summary == f"{pack}: no run imported; it has 2 on other data"
    (fewer,) = import_runs([pack], made(known, seeds=1), known, options)
    assert fewer.summary.endswith("1 finished run imported; it has 1 that this study does not have")


def test_a_pack_keeps_runs_that_the_study_does_not_have(
    known: DataFacts, pack: Path, tmp_path: Path
) -> None:
    before = {run.key for run in runs_of(pack)}
    other, options = facts(31), Options("data", tmp_path / "other")
    plan = made(other)
    plant(plan, other, options, lambda run, language: 0.7)
    assert write_pack(pack, plan, other, options) == 4
    assert {run.key for run in runs_of(pack)} == before | set(plan.runs)


def test_local_runs_take_precedence(known: DataFacts, pack: Path, tmp_path: Path) -> None:
    plan, options = made(known), Options("data", tmp_path / "here")
    own, failed = plan.runs.values()
    plant(plan, known, options, lambda run, language: 0.9)
    mine = options.folder(own).path / "results" / "test.best.en.json"
    before = mine.read_bytes()
    (options.folder(failed).path / "done.json").unlink()
    options.folder(failed).fail("it collapsed", MISTAKE)
    (taken,) = import_runs([pack], plan, known, options)
    assert taken.runs == [failed]
    assert mine.read_bytes() == before
    assert options.folder(failed).failure() is None


def test_a_run_that_lacks_a_result_is_run_again_unless_another_pack_has_it(
    known: DataFacts, pack: Path, tmp_path: Path
) -> None:
    more, options = made(known, BOTH), Options("data", tmp_path / "here")
    import_runs([pack], more, known, options)
    assert len(pending(more, options)) == 2
    assert set(retrained_runs(more, options).values()) == {
        "to evaluate it on de as this study does"
    }
    elsewhere = Options("data", tmp_path / "elsewhere")
    plant(more, known, elsewhere, lambda run, language: 0.6)
    write_pack(tmp_path / "b.zip", more, known, elsewhere)
    first, second = import_runs([pack, tmp_path / "b.zip"], more, known, options)
    assert (first.here, len(second.runs)) == (2, 2)
    assert pending(more, options) == []


def test_a_training_under_way_is_only_replaced_by_a_run_with_all_results(
    known: DataFacts, pack: Path, tmp_path: Path
) -> None:
    more, options = made(known, BOTH), Options("data", tmp_path / "here")
    for run in more.runs.values():
        write_json(options.folder(run).model / "model.json", {})
    (taken,) = import_runs([pack], more, known, options)
    assert (taken.runs, taken.here) == ([], 2)
    assert all(options.folder(run).model.exists() for run in more.runs.values())
    (taken,) = import_runs([pack], made(known), known, options)
    assert len(taken.runs) == 2
    assert not any(options.folder(run).model.exists() for run in more.runs.values())


def test_a_run_in_progress_is_left_alone(known: DataFacts, pack: Path, tmp_path: Path) -> None:
    plan, options = made(known), Options("data", tmp_path / "here")
    busy, other = plan.runs.values()
    with options.folder(busy).locked():
        (taken,) = import_runs([pack], plan, known, options)
    assert taken.runs == [other]
    assert not options.folder(busy).done


def test_times_of_this_processor_count_first(known: DataFacts, tmp_path: Path) -> None:
    plan, options = made(known), Options("data", tmp_path)
    first, second = plan.runs.values()
    options.folder(first).finish(RunOutcome(100.0, machine="another"))
    assert estimate(plan, options).of(first.group) == 102
    options.folder(second).finish(replace(RunOutcome(10.0), machine=cpu_model()))
    assert estimate(plan, options).of(first.group) == 12
