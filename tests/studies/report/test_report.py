"""Reports: the numbers of stored results, verdicts on planted ones, pages without network."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from polyglance.evaluation import load_report
from polyglance.evaluation.ranking.metrics import chance
from polyglance.studies import Study, make_plan
from polyglance.studies.findings.claims import FAILS, HOLDS, OPEN, PARTLY, UNTESTED, check_claims
from polyglance.studies.findings.results import Results, chance_level, collect
from polyglance.studies.format.needs import Need
from polyglance.studies.format.schema import Column
from polyglance.studies.plan import Run
from polyglance.studies.report import Document, make_document, write_report
from polyglance.studies.report.environment import shown_change
from polyglance.studies.running.execute import Options
from tests.studies.pages import elements
from tests.studies.planted import SPLIT, facts, plant

QUALITY = {"low": 0.4, "same": 0.4, "high": 0.7}
STUDY = {
    "title": "Planted <table>",
    "paper": "Nobody 2020",
    "columns": [
        {"name": "en", "language": "en", "direction": "t2i", "metric": "r10"},
        {"name": "de", "language": "de", "direction": "t2i", "metric": "r10"},
        {"name": "rank", "language": "de", "direction": "i2t", "metric": "medr"},
    ],
    "rows": [
        {"name": "low", "recipe": "vsepp", "baseline": True, "paper": [30.5, 31, 9]},
        {
            "name": "same",
            "recipe": "vsepp",
            "overrides": ["text.embedder.word_dim=7"],
            "paper": {"en": 33},
        },
        {"name": "high", "recipe": "nce"},
    ],
    "claims": [
        {"text": "high wins", "compare": ["high > low"]},
        {"text": "low wins", "compare": ["low > high"], "columns": ["en"]},
        {"text": "low and same", "compare": ["same > low"]},
        {"text": "at least", "compare": ["same >= low"]},
        {"text": "both", "compare": ["high > low", "same > low"]},
        {"text": "both at least", "compare": ["high >= low", "same >= low"]},
        {"text": "within ten", "compare": ["same >= low", "high >= low"], "margin": 10},
        {"text": "within a tenth", "compare": ["same >= low"], "margin": 0.1},
    ],
    "profiles": {"standard": {"note": "small sizes"}},
}


def named(run: Run) -> str:
    return run.labels[0].split(",")[0]


def planted(folder: Path, value: dict, seeds: int = 3) -> tuple[Results, Options]:
    known = facts(200, ("de", "en"))
    plan = make_plan(Study.model_validate(value), facts=known, seeds=seeds)
    options = Options("planted", folder / "runs")

    def quality(run: Run, code: str) -> float:
        wobble = 0.01 * (int(run.key[:4], 16) / 0xFFFF - 0.5)
        return QUALITY[named(run)] + wobble

    plant(plan, known, options, quality)
    return collect(plan, known, options), options


def document(results: Results, options: Options, failed: dict[str, str] | None = None) -> Document:
    return make_document("planted", results, options, failed or {}, "polyglance study planted", 5)


def test_the_markdown_has_the_numbers_of_the_stored_results(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    write_report(document(results, options), tmp_path)
    text = (tmp_path / "planted.md").read_text(encoding="utf-8")
    recalls = []
    for run in results.plan.runs.values():
        if named(run) == "high":
            stored = load_report(options.folder(run).result(SPLIT, Need(None, "en")))
            recalls.append(stored["en"].metrics.text_to_image.r10)
    expected = f"{np.mean(recalls):.1f} ± {np.std(recalls, ddof=1):.1f}"
    table = text.partition("## Results")[2]
    row = next(line for line in table.splitlines() if line.startswith("| high |"))
    assert row.split(" | ")[2] == expected
    low = next(line for line in table.splitlines() if line.startswith("| low |"))
    assert low.split(" | ")[1] == "30.5"
    assert "| chance |  | 5.0 |" in table
    for said in (
        "polyglance study planted",
        "standard: small sizes",
        "0, 1, 2",
        "cores",
        "Student",
    ):
        assert said in text
    numbers = json.loads((tmp_path / "planted.json").read_text(encoding="utf-8"))
    cell = numbers["rows"][2]["cells"]["en"]
    assert list(cell["seeds"].values()) == pytest.approx(recalls)
    assert len(numbers["runs"]) == 9


def test_a_report_names_the_changed_rows(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    for rows, command, told in (
        ("hi*", "polyglance study x --rows 'hi*' --set text.embedder.word_dim=3", True),
        ("hi*", "polyglance study x --rows 'hi*'", False),
        ("*", "polyglance study x --set text.embedder.word_dim=3", False),
    ):
        chosen = replace(options, rows=rows)
        made = make_document("planted", results, chosen, {}, command, 5)
        assert (("changed by --set", "rows 'hi*' alone") in made.about) == told
    assert shown_change("text.embedder.vectors=/home/me/en.vec") == "text.embedder.vectors=…/en.vec"
    assert shown_change("text.embedder.word_dim=3") == "text.embedder.word_dim=3"


def test_the_mean_stands_beside_the_columns_that_it_is_of(tmp_path: Path) -> None:
    rsum = {"name": "sum", "language": "de", "metric": "rsum", "table": "sums"}
    columns = [*STUDY["columns"][:2], rsum]
    rows = [{**row, "paper": {}} for row in STUDY["rows"]]
    made = document(*planted(tmp_path, {**STUDY, "columns": columns, "rows": rows}))
    headers = {table.title: table.header for table in made.tables}
    assert headers["Differences"][-1] == "mean"
    assert headers["Differences: sums"] == ["", "sum rsum"]


def test_claims_are_judged_by_significance(tmp_path: Path) -> None:
    results, _ = planted(tmp_path, STUDY)
    verdicts = {verdict.claim.text: verdict for verdict in check_claims(results)}
    assert verdicts["high wins"].verdict == HOLDS
    assert verdicts["low wins"].verdict == FAILS
    assert verdicts["low and same"].verdict == verdicts["at least"].verdict == OPEN
    assert verdicts["both"].verdict == PARTLY
    assert verdicts["both at least"].verdict == PARTLY
    assert verdicts["within ten"].verdict == HOLDS
    assert verdicts["within a tenth"].verdict == OPEN
    evidence = verdicts["high wins"].evidence[0]
    assert evidence.columns == ("en", "de")  # a median rank has no resamples
    assert evidence.difference is not None
    assert evidence.difference.difference == pytest.approx(30, abs=1.5)
    assert evidence.difference.low > 20
    some, none = verdicts["low and same"].evidence[0], verdicts["low wins"].evidence[0]
    assert (some.paper, some.paper_columns) == (2.5, 1)  # of the column that the paper has
    assert (none.paper, none.paper_columns) == (None, None)


def test_a_claim_without_results_is_not_tested(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    for run in results.plan.runs.values():
        if named(run) == "high":
            (options.folder(run).path / "done.json").unlink()
    results = collect(results.plan, facts(200, ("de", "en")), options)
    verdicts = [verdict.verdict for verdict in check_claims(results)]
    assert verdicts == [UNTESTED, UNTESTED, OPEN, OPEN, UNTESTED, UNTESTED, UNTESTED, OPEN]


def test_failed_runs_are_shown_with_their_reason(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    high = [run for run in results.plan.runs.values() if named(run) == "high"]
    low = next(run for run in results.plan.runs.values() if named(run) == "low")
    for run in [*high, low]:
        (options.folder(run).path / "done.json").unlink()
    failed = {run.key: f"collapsed in {options.runs}/x" for run in [*high, low]}
    results = collect(results.plan, facts(200, ("de", "en")), options)
    write_report(document(results, options, failed), tmp_path)
    text = (tmp_path / "planted.md").read_text(encoding="utf-8")
    assert "| high | – | failed | – | failed |" in text
    assert re.search(r"\| low \| 30.5 \| [\d.]+ ± [\d.]+ \(2 of 3\) \|", text)
    assert "- high, seed 0: collapsed in RUNS/x" in text
    assert str(tmp_path) not in text


def test_the_page_is_whole_and_needs_no_network(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    made = document(results, options)
    write_report(made, tmp_path)
    page = (tmp_path / "planted.html").read_text(encoding="utf-8")
    assert "Planted &lt;table&gt;" in page
    assert "<table>" not in re.findall(r"<h1>(.*?)</h1>", page)[0]
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    assert page.count("data:image/svg+xml") == len(made.plots) == 2
    assert elements(page).count("details") == 1
    assert 'class="badge">holds<' in page
    for plot in made.plots:
        ElementTree.fromstring(plot.svg)
        assert (tmp_path / f"planted.{plot.name}.svg").read_bytes() == plot.svg


def test_a_curve_is_drawn_and_compared_at_every_x(tmp_path: Path) -> None:
    value = {
        **STUDY,
        "columns": [{"name": "en", "language": "en"}],
        "curve": {"path": "training.epochs", "values": [2, 4], "label": "epochs"},
        "rows": [{**row, "paper": {"en": {"2": 1.5}}} for row in STUDY["rows"]],
        "claims": [{"text": "high wins", "compare": ["high > low"]}],
    }
    results, options = planted(tmp_path, value)
    made = document(results, options)
    assert [plot.name for plot in made.plots] == ["curves"]
    write_report(made, tmp_path)
    assert elements((tmp_path / "planted.html").read_text(encoding="utf-8")).count("img") == 1
    assert check_claims(results)[0].evidence[0].columns == ("en at 2", "en at 4")
    rows = {row[0]: row for row in made.tables[0].rows}
    assert rows["high, 2"][1] == "1.5"
    assert rows["high, 4"][1] == "–"
    assert {(t.line.x, t.reference.x) for t in results.tests} == {(2, 2), (4, 4)}


def test_chance_levels_agree_with_the_evaluation() -> None:
    owners = np.array([0, 0, 1, 2, 2, 2, *range(3, 30)])
    single = [
        chance_level(owners, Column(language="en", direction=side, metric=metric))
        for side in ("i2t", "t2i")
        for metric in ("r1", "r5", "r10")
    ]
    assert np.mean(single) == pytest.approx(chance(owners))
    assert chance_level(owners, Column(language="en", metric="rsum")) == pytest.approx(sum(single))
