"""Reports say where their runs are not those of their study today."""

import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.studies import load_study, make_plan
from polyglance.studies.report import write_report
from polyglance.studies.report.document import definition
from polyglance.studies.report.earlier import earlier
from polyglance.studies.report.regenerate import read_document, read_warnings
from polyglance.studies.report.summary import ReportClaims, claims_table

FOLDER = Path(__file__).parents[3] / "docs" / "studies"


def stored(name: str, seeds: int = 1) -> dict[str, Any]:
    """What a report of a study's runs of today has of them."""
    study = load_study(name)
    plan = make_plan(study, "standard", seeds=seeds)
    return {
        "study": name,
        "about": {"command": f"polyglance study {name}", "seeds": "0, 1, 2"[: 3 * seeds - 2]},
        "definition": definition(study, "standard"),
        "runs": {key: {"labels": run.labels, **run.as_dict()} for key, run in plan.runs.items()},
    }


def run_of(value: dict[str, Any], label: str) -> dict[str, Any]:
    return next(run for run in value["runs"].values() if label in run["labels"])


@pytest.mark.parametrize("name", ["kadar-table4", "zero-shot-languages", "gpo-synthetic"])
def test_a_report_of_todays_runs_is_not_earlier(name: str) -> None:
    assert earlier(json.loads(json.dumps(stored(name, 2)))) == []


def test_changed_settings_are_named() -> None:
    value = stored("kadar-table4")
    run_of(value, "translation, seed 0")["recipe"]["training"]["patience"] = 99
    run_of(value, "comparable, seed 0")["recipe"]["training"]["patience"] = 99
    run_of(value, "comparable, seed 0")["recipe"]["loss"]["margin"] = 0.9
    assert earlier(value) == [
        "2 of 7 runs differ from those of the study today (training.patience, loss.margin)"
    ]
    value["about"]["command"] += " --set training.patience=99"
    assert earlier(value) == []
    assert earlier({**stored("kadar-table4"), "study": "my-own"}) == []


def test_a_run_that_starts_from_a_changed_source_is_changed() -> None:
    value = stored("zero-shot-languages")
    key, source = next(
        item for item in value["runs"].items() if "source liwe, seed 0" in item[1]["labels"]
    )
    source["recipe"]["loss"]["margin"] = 0.9
    begun = [run for run in value["runs"].values() if key in json.dumps(run["recipe"])]
    assert len(begun) > 3
    assert earlier(value)[0].startswith(f"{1 + len(begun)} of {len(value['runs'])} runs")


def test_a_changed_experiment_and_new_rows_are_named() -> None:
    value = stored("gpo-synthetic")
    run_of(value, "cos-bigru, A, seed 0")["settings"]["steps"] = 7
    rows = value["definition"]["rows"]
    value["definition"]["rows"] = [row for row in rows if row["name"] != "cos-mlp"]
    value["definition"]["claims"] = []
    assert earlier(value) == [
        "1 of 20 runs differ from those of the study today (steps)",
        "rows added since: “Cos/Sin + MLP”",
    ]


def test_rows_that_need_imported_data_are_not_missed() -> None:
    value = stored("gpo-sequence-model")
    sections = value["definition"]["sections"]
    value["definition"]["sections"] = [one for one in sections if "regions" not in one["title"]]
    assert earlier(value) == []


def test_pages_say_it_above_everything_else(tmp_path: Path) -> None:
    value = json.loads((FOLDER / "kadar-table4.json").read_text(encoding="utf-8"))
    run_of(value, "comparable, seed 0")["recipe"]["loss"]["margin"] = 0.9
    path = tmp_path / "kadar-table4.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    plot = "kadar-table4.bars.svg"
    (tmp_path / plot).write_bytes((FOLDER / plot).read_bytes())
    document = read_document(path)
    write_report(document, tmp_path)
    text = "1 of 21 runs differ from those of the study today (loss.margin)."
    lines = (tmp_path / "kadar-table4.md").read_text(encoding="utf-8").splitlines()
    assert lines[2] == f"> **Earlier settings:** {text}"
    assert text in (tmp_path / "kadar-table4.html").read_text(encoding="utf-8")
    report = ReportClaims.of("kadar-table4", value)
    assert report.marks == ["earlier settings", "⚠"]
    assert "[kadar-table4](kadar-table4.md), earlier settings, ⚠ |" in claims_table([report], "*")


def test_former_reports_warn_of_runs_that_did_not_converge() -> None:
    """They recorded neither warnings nor the length of the warm-up."""
    loss = {"warmup_epochs": 2, "warmup_updates": 10}
    done = {"seconds": 9.0, "updates": 900, "updates_per_epoch": 44, "recipe": {"loss": loss}}
    runs = {
        "a": {"labels": ["one, seed 0"], **done, "best_update": 88},
        "b": {"labels": ["two, seed 0"], **done, "best_update": 900},
        "c": {"labels": ["three, seed 0"], **done, "best_update": 89},
        "d": {"labels": ["four, seed 0"], "seconds": 9.0, "settings": {}},
    }
    found = read_warnings({"runs": runs})
    assert [text.partition(":")[0] for text in found] == ["1 of 3 runs", "1 of 3 runs"]
    assert "(one, seed 0)" in found[0]
    assert "(two, seed 0)" in found[1]
    assert read_warnings({"runs": runs, "warnings": ["stored"]}) == ["stored"]
