"""Measured studies: planned, run once, resumed, tested over seeds, reported."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.studies import Study, load_study, make_plan
from polyglance.studies.experiments import Experiment, Measured, Settings, experiments
from polyglance.studies.findings.claims import FAILS, HOLDS, OPEN, UNTESTED, check_claims
from polyglance.studies.findings.results import Results, collect
from polyglance.studies.format.check import check_references
from polyglance.studies.plan import Plan
from polyglance.studies.report import make_document, write_report
from polyglance.studies.running.execute import Options, _jobs, _task, pending
from polyglance.studies.running.worker import Task, perform
from tests.studies.pages import elements


class PlantedSettings(Settings):
    level: float = 1.0
    part: str = "a"
    x: int = 0


CALLS: list[PlantedSettings] = []


def planted(settings: PlantedSettings) -> Measured:
    """small = level + seed / 100, large = 2 · small + x."""
    CALLS.append(settings)
    if settings.level < 0:
        raise PolyglanceError("levels are not negative")
    if settings.level > 100:
        raise ZeroDivisionError("too high")
    small = settings.level + settings.seed / 100
    part = settings.part
    return Measured({f"{part} small": small, f"{part} large": 2 * small + settings.x}, {"note": 1})


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    names = lambda settings: [f"{settings.part} small", f"{settings.part} large"]  # noqa: E731
    experiment = Experiment(PlantedSettings, names, planted, "Planted numbers.")
    monkeypatch.setitem(experiments._parts, "planted", experiment)
    CALLS.clear()


def column(measure: str, **fields: object) -> dict:
    return {"measure": measure, "unit": "error", "better": "lower", "digits": 2, **fields}


VALUE = {
    "title": "Planted <numbers>",
    "paper": "Nobody 2021",
    "experiment": "planted",
    "columns": [column(f"{part} {size}") for part in ("a", "b") for size in ("small", "large")],
    "settings": {"part": "$each"},
    "rows": [
        {"name": "one", "each": ["a", "b"], "baseline": True, "paper": [0.9, 1.9, None, 2]},
        {"name": "same", "each": ["a", "b"]},
        {"name": "two", "each": ["a", "b"], "settings": {"level": 2}, "paper": {"a small": 3}},
    ],
    "claims": [
        {"text": "one is less", "compare": ["one < two"]},
        {"text": "one is more", "compare": ["one > two"], "columns": ["a *"]},
        {"text": "both are equal", "compare": ["same <= one"]},
        {"text": "small is less", "compare_columns": ["* small < * large"], "rows": ["two"]},
    ],
    "profiles": {"standard": {"note": "small sizes"}},
}


def plan_of(value: dict, seeds: int | None = None) -> Plan:
    study = Study.model_validate(value)
    check_references(study, "test")
    return make_plan(study, seeds=seeds)


def tasks(plan: Plan, options: Options) -> list[Task]:
    return [_task(run, plan, options, 1) for run in pending(plan, options)]


def finished(folder: Path, value: dict, seeds: int = 3) -> tuple[Results, Options]:
    plan, options = plan_of(value, seeds), Options("", folder / "runs")
    for task in tasks(plan, options):
        assert perform(Task.from_json(task.to_json())) == ""
    return collect(plan, None, options), options


def test_each_value_is_a_run_that_fills_its_columns() -> None:
    plan = plan_of(VALUE, seeds=2)
    assert len(plan.runs) == 2 * 2 * 2, "'same' shares the runs of 'one'"
    sources = plan.lines[0].sources[1]
    assert set(sources) == {"a small", "a large", "b small", "b large"}
    assert sources["a small"] == sources["a large"] != sources["b small"]
    run = plan.runs[sources["b large"]]
    assert run.labels == ["one, b, seed 1", "same, b, seed 1"]
    assert run.trial is not None
    assert run.trial.settings == PlantedSettings(part="b", seed=1)
    assert len({run.group for run in plan.runs.values()}) == 4


def test_the_key_follows_settings_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(plan_of(VALUE, 1).runs)
    assert set(make_plan(Study.model_validate(VALUE), seeds=1).runs) == before
    changed = make_plan(Study.model_validate(VALUE), seeds=1, overrides={"x": 1})
    assert not set(changed.runs) & before
    default = make_plan(Study.model_validate(VALUE), seeds=1, overrides={"x": 0})
    assert set(default.runs) == before
    newer = Experiment(PlantedSettings, experiments.get("planted").measures, planted, "", version=2)
    monkeypatch.setitem(experiments._parts, "planted", newer)
    assert not set(plan_of(VALUE, 1).runs) & before


MISTAKES = [
    ({"experiment": "plantd"}, r"unknown experiment 'plantd' \(did you mean 'planted'"),
    ({"settings": {"part": "$each", "lvel": 1}}, r"row 'one'.*'lvel' \(did you mean 'level'"),
    ({"settings": {"level": "high"}}, "row 'one'.*field 'level'"),
    (
        {"columns": [column("a smal")], "claims": []},
        r"no measure 'a smal' \(did you mean 'a small'",
    ),
    ({"claims": [{"text": "x", "compare": ["one < tow"]}]}, "no row 'tow'"),
    ({"claims": [{"text": "x", "compare_columns": ["* smal < * large"]}]}, "no column matches"),
]


@pytest.mark.parametrize(("change", "message"), MISTAKES)
def test_mistakes_are_named(change: dict, message: str) -> None:
    value = {**VALUE, **change}
    value["rows"] = [{k: v for k, v in row.items() if k != "paper"} for row in VALUE["rows"]]
    with pytest.raises(PolyglanceError, match=message):
        plan_of(value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": [{"language": "en"}]}, "column 'en mR' needs a 'measure'"),
        ({"experiment": None}, "needs an 'experiment'"),
        ({"rows": [{"name": "a", "recipe": "vsepp"}]}, "row 'a' has a recipe"),
        ({"columns": [column("a", language="en")]}, "a measure has no 'language'"),
        ({"claims": [{"text": "x"}]}, "'compare' or 'compare_columns'"),
        ({"claims": [{"text": "x", "compare": ["a > b"], "rows": ["a"]}]}, "'rows' needs"),
    ],
)
def test_kinds_of_study_do_not_mix(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Study.model_validate({**VALUE, **change})


def test_finished_trials_are_not_run_again_and_killed_ones_are(tmp_path: Path) -> None:
    plan, options = plan_of(VALUE, 1), Options("", tmp_path)
    first, *others = tasks(plan, options)
    assert [perform(first), perform(first)] == ["", ""]
    assert len(CALLS) == 1
    assert len(tasks(plan, options)) == len(others) == 3
    (Path(first.folder) / "done.json").unlink()  # as a kill before the end leaves it
    assert len(tasks(plan, options)) == 4
    assert perform(first) == ""
    assert len(CALLS) == 2


def test_mistakes_are_remembered_and_crashes_tried_again(tmp_path: Path) -> None:
    rows = [{"name": n, "settings": {"level": v}} for n, v in (("low", -1), ("high", 101))]
    plan = plan_of({**VALUE, "settings": {}, "rows": rows, "claims": []}, 1)
    options = Options("", tmp_path)
    reasons = [perform(task) for task in tasks(plan, options)]
    assert reasons[0] == "levels are not negative"
    assert reasons[1].startswith("ZeroDivisionError: too high")
    assert [run.rows for run in pending(plan, options)] == [{"high"}]
    again = Options("", tmp_path, retry=True)
    assert len(pending(plan, again)) == 2
    results = collect(plan, None, options)
    failed = {run.key: "because" for run in plan.runs.values()}
    made = make_document("planted", results, options, failed, "command", 1)
    assert made.tables[0].rows[0][1:] == ["failed", "failed", "–", "–"]


def test_numbers_differences_and_claims(tmp_path: Path) -> None:
    results, _ = finished(tmp_path, VALUE)
    assert len(CALLS) == 12
    cell = results.cells[2][1]
    assert cell.series is not None
    assert cell.series.values.tolist() == pytest.approx([4, 4.02, 4.04])
    (joint,) = [t for t in results.tests if t.column is None and t.line.row.name == "two"]
    # Means over columns 1.5 · (level + seed / 100): standard deviation .015, 4 degrees of freedom.
    assert joint.difference.difference == pytest.approx(1.5)
    assert joint.difference.high - 1.5 == pytest.approx(2.7764 * 0.015 * (2 / 3) ** 0.5, rel=1e-3)
    verdicts = {verdict.claim.text: verdict for verdict in check_claims(results)}
    assert [v.verdict for v in verdicts.values()] == [HOLDS, FAILS, OPEN, HOLDS]
    assert verdicts["one is more"].evidence[0].columns == ("a small", "a large")
    columns = verdicts["small is less"].evidence[0]
    assert columns.columns == ("a small", "b small")
    assert columns.difference is not None
    assert columns.difference.difference == pytest.approx(-2.01)


def test_a_single_seed_is_not_tested(tmp_path: Path) -> None:
    results, _ = finished(tmp_path, VALUE, seeds=1)
    assert results.tests == []
    assert {verdict.verdict for verdict in check_claims(results)} == {UNTESTED}


def test_the_report_has_tables_by_name_and_colours_by_direction(tmp_path: Path) -> None:
    value = {**VALUE, "columns": [dict(c, table=c["measure"][0]) for c in VALUE["columns"]]}
    results, options = finished(tmp_path, value)
    made = make_document("planted", results, options, {}, "polyglance study planted", 5)
    assert [table.title for table in made.tables] == [
        *("Results: a", "Results: b", "Differences: a", "Differences: b")
    ]
    write_report(made, tmp_path)
    text = (tmp_path / "planted.md").read_text(encoding="utf-8")
    assert "| one | 0.90 | 1.01 ± 0.01 | 1.90 | 2.02 ± 0.02 |" in text
    assert "| two − one | +2.10 | +1.00*** [+0.98, +1.02] |" in text
    assert "chance" not in text
    for said in ("error: lower is better", "Planted numbers.", "Welch", "experiment: planted"):
        assert said in text
    assert re.search(r"\| one, a, seed 0 \(\+1\) \| 1 \| [\d.]+ s \| done \|", text)
    page = (tmp_path / "planted.html").read_text(encoding="utf-8")
    assert elements(page).count("table") == 5
    assert 'class="worse">+1.00***' in page
    assert page.count("data:image/svg+xml") == len(made.plots) == 2
    numbers = json.loads((tmp_path / "planted.json").read_text(encoding="utf-8"))
    assert numbers["rows"][0]["cells"]["a small"]["seeds"] == {"0": 1.0, "1": 1.01, "2": 1.02}
    assert all(run["experiment"] == "planted" for run in numbers["runs"].values())


def test_a_curve_over_a_setting_with_rows_as_measures(tmp_path: Path) -> None:
    value = {
        **VALUE,
        "columns": [column("a $row", name="time")],
        "settings": {},
        "rows": [{"name": "small"}, {"name": "large"}],
        "curve": {"path": "x", "values": [1, 10], "log": True, "log_y": True},
        "claims": [{"text": "grows", "compare": ["large > small"]}],
    }
    results, options = finished(tmp_path, value, seeds=2)
    assert len(results.plan.runs) == 4, "both rows are measured by the same runs"
    means = [cells[0].series and cells[0].series.mean for cells in results.cells]
    assert means == pytest.approx([1.005, 1.005, 3.01, 12.01])
    assert check_claims(results)[0].verdict == HOLDS
    made = make_document("planted", results, options, {}, "command", 1)
    write_report(made, tmp_path)
    assert [plot.name for plot in made.plots] == ["curves"]
    ElementTree.fromstring(made.plots[0].svg)
    assert "figure" in elements((tmp_path / "planted.html").read_text(encoding="utf-8"))


def command(*words: object) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, words)])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_known_coefficients_end_to_end(tmp_path: Path) -> None:
    words = ["gpo-synthetic", "--profile", "quick", "--runs", tmp_path / "runs", "--jobs", 2]
    words += ["--rows", "interp*", "--set", "steps=3"]
    assert "10 of 10 runs to do" in command(*words, "--plan")
    command(*words, "--out", tmp_path)
    text = (tmp_path / "gpo-synthetic.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| Interp. |"))
    assert re.match(r"\| Interp\. \| 0\.000 \| 0\.000 ± 0\.000 \| 0\.065 \| 0\.\d{3} ± ", row)
    assert "| Cos/Sin + BiGRU | 0.000 | – |" in text
    assert (tmp_path / "gpo-synthetic.experiment.svg").is_file()
    elements((tmp_path / "gpo-synthetic.html").read_text(encoding="utf-8"))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    command(*words, "--out", tmp_path)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")} == before
    assert "0 of 10 runs to do" in command(*words, "--plan")
    with pytest.raises(PolyglanceError, match="leave out --data"):
        command(*words, "--data", "generated", "--plan")


def test_times_end_to_end(tmp_path: Path) -> None:
    words = ["gpo-speed", "--profile", "quick", "--runs", tmp_path / "runs", "--out", tmp_path]
    command(*words, "--seeds", 1, "--jobs", 2)
    numbers = json.loads((tmp_path / "gpo-speed.json").read_text(encoding="utf-8"))
    rows = {(row["row"], row["x"]): row["cells"] for row in numbers["rows"]}
    assert len(rows) == 6
    assert all(cells["ms per query"]["mean"] > 0 for cells in rows.values())
    assert rows["vse", 20]["times VSE"]["mean"] == 1
    assert len(numbers["runs"]) == 2, "all methods are timed in one run"
    elements((tmp_path / "gpo-speed.html").read_text(encoding="utf-8"))


def test_runs_that_measure_time_are_never_side_by_side() -> None:
    speed = make_plan(load_study("gpo-speed"), "quick")
    options = Options("", Path("runs"), jobs=4)
    assert _jobs(speed, options) == 1
    assert _jobs(plan_of(VALUE), options) == 4
