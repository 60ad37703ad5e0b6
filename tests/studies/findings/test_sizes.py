"""Columns of parameters, plots against them, and columns of perturbed queries."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json, write_json
from polyglance.studies import Study, load_study, make_plan
from polyglance.studies.findings.results import Results, collect
from polyglance.studies.findings.sizes import Sizes
from polyglance.studies.format.needs import Need
from polyglance.studies.plan import DataFacts, Line, Plan, Run
from polyglance.studies.report import make_document, write_report
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import RunFolder
from polyglance.studies.running.worker import Task, perform
from tests.conftest import TOY, write_toy
from tests.studies.pages import elements
from tests.studies.planted import SPLIT, facts, plant
from tests.studies.running.test_execute import command
from tests.studies.running.test_execute import task as make_task

QUALITY = {"table": 0.6, "small": 0.5, "each": 0.4}
RECALL = {"language": "en", "direction": "t2i", "metric": "r10"}
STUDY = {
    "title": "Sizes",
    "paper": "Nobody 2020",
    "columns": [
        {"name": "size", "parameters": "words", "digits": 2},
        {"parameters": "all"},
        {"name": "en", **RECALL},
        {"name": "de", **RECALL, "language": "de"},
    ],
    "scatter": {"x": "size", "y": ["en", "de"]},
    "rows": [
        {"name": "table", "recipe": "cmlr", "baseline": True, "paper": [9, None, 50, 40]},
        {"name": "small", "recipe": "liwe", "paper": {"size": 0.5, "en": 51}},
        {
            "name": "each",
            "recipe": "cmlr",
            "each": ["en", "de"],
            "overrides": {"data.languages": ["$language"]},
        },
    ],
    "profiles": {"standard": {}},
}


def planted(folder: Path, value: dict, seeds: int = 2) -> tuple[Plan, DataFacts, Options]:
    known, options = facts(60, ("de", "en")), Options("planted", folder / "runs")
    plan = make_plan(Study.model_validate(value), facts=known, seeds=seeds)
    plant(plan, known, options, lambda run, _: QUALITY[name(run)])
    for run in plan.runs.values():
        done = options.folder(run).outcome()
        words = 250_000 if name(run) == "small" else 3_000_000
        parts = {"words": words, "all": words + 1_000_000}
        options.folder(run).finish(replace(done, parts=parts))
    return plan, known, options


def name(run: Run) -> str:
    return run.labels[0].split(",")[0]


def line(plan: Plan, row: str) -> Line:
    return next(line for line in plan.lines if line.row.name == row)


def values(results: Results, row: str, column: str) -> list[float] | None:
    found = next(c for c in results.plan.columns if c.title == column)
    series = results.cell(line(results.plan, row), found).series
    return None if series is None else series.values.tolist()


def test_parameters_are_shown_beside_the_papers(tmp_path: Path) -> None:
    plan, known, options = planted(tmp_path, STUDY)
    results = collect(plan, known, options)
    assert values(results, "small", "size") == [0.25, 0.25]
    assert values(results, "small", "M parameters") == [1.25, 1.25]
    assert values(results, "each", "size") == [6, 6]  # two trainings, each with its table
    document = make_document("planted", results, options, {}, "command", 1)
    rows = {row[0]: row for row in document.tables[0].rows}
    assert rows["table"][1:4] == ["9.00", "3.00", "4.0"]
    assert rows["small"][1:4] == ["0.50", "0.25", "1.2"]
    assert all("size" not in (test.column.title if test.column else "") for test in results.tests)
    assert "millions of parameters" in " ".join(document.tables[0].notes)


def test_the_scatter_has_a_named_point_for_every_row(tmp_path: Path) -> None:
    plan, known, options = planted(tmp_path, STUDY)
    document = make_document("planted", collect(plan, known, options), options, {}, "command", 1)
    assert [plot.name for plot in document.plots] == ["scatter", "bars"]
    write_report(document, tmp_path)
    drawn = (tmp_path / "planted.scatter.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)
    for label in ("table", "small", "each"):
        assert drawn.count(f"<!-- {label} -->") >= 2  # a panel each for English and German
    assert "planted.scatter.svg" in (tmp_path / "planted.md").read_text(encoding="utf-8")
    page = (tmp_path / "planted.html").read_text(encoding="utf-8")
    assert elements(page).count("img") == 2


def test_runs_of_former_versions_are_counted_or_left_out(tmp_path: Path) -> None:
    data = write_toy(tmp_path / "toy")
    task = make_task(tmp_path / "runs" / "key", data)
    assert perform(task) == ""
    folder = RunFolder(tmp_path / "runs" / "key")
    done = folder.outcome()
    assert done.parts["all"] == done.parameters
    words = done.parts["words"]
    folder.finish(replace(done, parts={}))
    run, options = Run("key", None), Options("", tmp_path / "runs")
    assert Sizes(options).of(run, "all") == done.parameters
    assert Sizes(options).of(run, "words") == words
    assert Sizes(options).of(run, "deployed") == done.parameters - words
    (folder.model / "model.json").unlink()
    assert Sizes(options).of(run, "words") is None
    assert Sizes(options).of(run, "all") == done.parameters
    assert Sizes(options).of(Run("new", None), "all") is None


def test_costs_of_a_training_are_reported(tmp_path: Path) -> None:
    columns = [*STUDY["columns"], {"cost": "epoch"}, {"cost": "memory", "digits": 2}]
    rows = [{name: row[name] for name in row if name != "paper"} for row in STUDY["rows"]]
    plan, known, options = planted(tmp_path, {**STUDY, "columns": columns, "rows": rows})
    for number, run in enumerate(plan.runs.values()):
        folder = options.folder(run)
        cost = {"seconds": 30.0, "updates": 60, "updates_per_epoch": 10}
        folder.finish(replace(folder.outcome(), **cost, memory=(1 + number % 2) << 29))
    results = collect(plan, known, options)
    assert values(results, "small", "s per epoch") == [5, 5]
    assert values(results, "each", "s per epoch") == [10, 10]  # two trainings
    largest = values(results, "each", "GiB of memory")
    assert largest is not None
    assert max(largest) == 1
    notes = make_document("planted", results, options, {}, "command", 1).tables[0].notes
    assert any(note.startswith("GiB of memory: peak memory") for note in notes)


def test_a_run_records_its_costs(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "key"
    assert perform(make_task(folder, write_toy(tmp_path / "toy"))) == ""
    run, sizes = Run("key", None), Sizes(Options("", tmp_path / "runs"))
    facts = RunFolder(folder).outcome()
    epochs = facts.updates / facts.updates_per_epoch
    assert sizes.cost(run, "epoch") == pytest.approx(facts.seconds / epochs)
    memory = sizes.cost(run, "memory")
    assert memory is not None
    assert 0.05 < memory < 8
    write_json(folder / "done.json", {"seconds": 1, "updates": 2})
    assert sizes.cost(run, "epoch") is sizes.cost(run, "memory") is None


PERTURBED = {
    **STUDY,
    "scatter": None,
    "columns": [
        {"name": "en", **RECALL},
        {"name": "typos", **RECALL, "perturb": "typos:0.50"},
        {"name": "lost", **RECALL, "perturb": "typos:0.5", "change": True},
    ],
    "rows": [{"name": "small", "recipe": "liwe"}, {"name": "table", "recipe": "cmlr"}],
    "claims": [{"text": "less", "compare": ["small > table"], "columns": ["lost"]}],
}


def test_a_change_is_perturbed_minus_plain(tmp_path: Path) -> None:
    known, options = facts(60, ("de", "en")), Options("planted", tmp_path / "runs")
    plan = make_plan(Study.model_validate(PERTURBED), facts=known, seeds=2)
    (run, *_) = plan.runs.values()
    plain, typos = sorted(run.needs, key=lambda need: need.order)
    assert plain == Need(None, "en")
    assert json.loads(typos.view)["perturb"].startswith("typos:0.5@")
    plant(plan, known, options, lambda run, _: QUALITY[name(run)])
    for run in plan.runs.values():
        path = options.folder(run).result(SPLIT, typos)
        value = read_json(path)
        ranks = value["languages"]["en"]["ranks"]["text_to_image"]
        share = 12 if name(run) == "small" else 30
        value["languages"]["en"]["ranks"]["text_to_image"] = [20] * share + ranks[share:]
        value["languages"]["en"]["perturbed"] = {"name": "typos:0.5", "words": 9, "changed": 3}
        write_json(path, value)
    results = collect(plan, known, options)
    for row in ("small", "table"):
        lost = values(results, row, "lost")
        before, after = values(results, row, "en"), values(results, row, "typos")
        assert lost is not None
        assert before is not None
        assert after is not None
        assert lost == pytest.approx([b - a for a, b in zip(before, after, strict=True)])
    document = make_document("planted", results, options, {}, "command", 1)
    assert document.verdicts[0].verdict == "holds"
    assert "typos:0.5, % of words changed: en 33" in document.tables[0].notes
    assert [p.name for p in document.plots] == ["bars", "change-of-recall"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"parameters": "words", "language": "en"}, "parameters have no 'language'"),
        ({"language": "en", "perturb": "typos:0.2"}, "'perturb' changes queries"),
        ({**RECALL, "direction": "i2t", "perturb": "typos:0.2"}, "the direction is t2i"),
        ({**RECALL, "perturb": "typo:0.2"}, "did you mean 'typos'"),
        ({**RECALL, "change": True}, "'change' needs 'perturb'"),
        ({"parameters": "all"}, "nothing is evaluated"),
        ({"cost": "epoch", "average": "all"}, "a cost has no 'language'"),
    ],
)
def test_invalid_columns_are_refused(column: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Study.model_validate({**STUDY, "scatter": None, "columns": [column]})


def test_a_scatter_of_unknown_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    write_json(path, {**STUDY, "scatter": {"x": "sizes", "y": ["en"]}})
    with pytest.raises(PolyglanceError, match=r"no column 'sizes' \(did you mean 'size'"):
        load_study(str(path.rename(path.with_suffix(".yaml"))))


def test_perturbed_queries_end_to_end(tmp_path: Path) -> None:
    data = write_toy(tmp_path / "toy")
    words = ["liwe-robustness", "--data", data, "--profile", "quick", "--rows", "small-1"]
    words += ["--runs", tmp_path / "runs", "--set", "training.epochs=1"]
    words += [word for change in TOY if "seed" not in change for word in ("--set", change)]
    with pytest.raises(PolyglanceError, match="needs a lexicon"):
        command(*words, "--out", tmp_path / "out")
    lexicon = tmp_path / "lexicon.tsv.gz"
    lexicon.write_bytes(gzip.compress(b"1\ten\tdog|hound\n1\tde\thund\n"))
    result = command(*words, "--out", tmp_path / "out", "--lexicon", lexicon)
    assert result.exit_code == 0, result.output
    numbers = read_json(tmp_path / "out" / "liwe-robustness.json")
    cells = {row["row"]: row["cells"] for row in numbers["rows"]}["small-1"]
    assert cells["en typos lost"]["mean"] == pytest.approx(
        cells["en typos"]["mean"] - cells["en"]["mean"]
    )
    assert len(list((tmp_path / "runs").rglob("test.best.en*.json"))) == 5


def test_tasks_keep_their_needs() -> None:
    needs = [Need(None, "en"), Need(("machine",), "de", '{"perturb": "typos:0.2@abc"}')]
    task = Task("folder", {}, "data", "test", needs, lexicon="file")
    assert Task.from_json(task.to_json()) == task


def test_shared_tokens_are_reported(tmp_path: Path) -> None:
    tokens = [{"tokens": "used", "digits": 0}, {"tokens": "shared"}, {"tokens": "pairs"}]
    rows = [{name: row[name] for name in row if name != "paper"} for row in STUDY["rows"]]
    columns = [*STUDY["columns"], *tokens]
    plan, known, options = planted(tmp_path, {**STUDY, "columns": columns, "rows": rows})
    for run in plan.runs.values():
        folder = options.folder(run)
        if name(run) == "small":
            found = {"used": 1398, "shared": 5.222, "pairs": 0.0, "lexicon_pairs": 2324}
            folder.finish(replace(folder.outcome(), tokens=found))
    results = collect(plan, known, options)
    assert values(results, "small", "latent tokens") == [1398, 1398]
    assert values(results, "small", "% shared") == [5.222, 5.222]
    assert values(results, "small", "% of pairs") == [0, 0]
    assert values(results, "table", "% of pairs") is None
    document = make_document("planted", results, options, {}, "command", 1)
    row = next(row for row in document.tables[0].rows if row[0] == "small")
    assert row[-3:] == ["1398 ± 0", "5.2 ± 0.0", "0.0 ± 0.0"]
    assert "words of several languages use" in " ".join(document.tables[0].notes)
