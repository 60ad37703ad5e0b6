"""Reports say where rows were not trained long enough to be compared."""

from dataclasses import replace
from pathlib import Path

import pytest

from polyglance.studies import Study, make_plan
from polyglance.studies.findings.results import collect
from polyglance.studies.report import make_document, write_report
from polyglance.studies.report.convergence import best_was_last, in_warmup, shown_best
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import RunOutcome
from tests.studies.planted import facts, plant

STUDY = {
    "title": "Planted",
    "paper": "Nobody 2020",
    "columns": [{"language": "en", "direction": "t2i", "metric": "r10"}],
    "rows": [{"name": "one", "recipe": "vsepp"}, {"name": "two", "recipe": "nce"}],
    "profiles": {"standard": {"note": "small sizes"}},
}
OUTCOME = RunOutcome(9.0, 1, "all done", updates=900, best_update=800, parameters=5, warmup=350)


@pytest.mark.parametrize(
    ("changes", "inside", "last", "text"),
    [
        ({}, False, False, "800, after a warm-up of 350"),
        ({"best_update": 351}, False, False, "351, after a warm-up of 350"),
        ({"best_update": 350}, True, False, "350, in the warm-up of 350"),
        ({"best_update": 900}, False, True, "900, after a warm-up of 350"),
        ({"best_update": 900, "warmup": None}, False, True, "900"),
        ({"warmup": 900, "best_update": 900}, True, True, "900, in the warm-up of 900"),
        ({"updates": None, "best_update": None}, False, False, "0, after a warm-up of 350"),
    ],
)
def test_where_the_best_weights_come_from(
    changes: dict[str, int | None], inside: bool, last: bool, text: str
) -> None:
    ended = replace(OUTCOME, **changes)
    assert (in_warmup(ended), best_was_last(ended), shown_best(ended)) == (inside, last, text)


def test_the_report_warns_of_runs_that_did_not_converge(tmp_path: Path) -> None:
    known = facts(50, ("en",))
    plan = make_plan(Study.model_validate(STUDY), facts=known, seeds=2)
    options = Options("planted", tmp_path / "runs")
    plant(plan, known, options, lambda *_: 0.5)
    bests = {"one, seed 0": 300, "one, seed 1": 900, "two, seed 0": 800, "two, seed 1": 400}
    for run in plan.runs.values():
        options.folder(run).finish(replace(OUTCOME, best_update=bests[run.label]))
    made = make_document("planted", collect(plan, known, options), options, {}, "study", 1)
    assert [warning.partition(" runs: ")[0] for warning in made.warnings] == ["1 of 4", "1 of 4"]
    assert "are from the warm-up" in made.warnings[0]
    assert "(one, seed 0)" in made.warnings[0]
    assert "last evaluation was the best" in made.warnings[1]
    assert "(one, seed 1)" in made.warnings[1]
    write_report(made, tmp_path)
    page = (tmp_path / "planted.md").read_text(encoding="utf-8")
    assert f"## Convergence\n\n- ⚠ {made.warnings[0]}\n- ⚠ {made.warnings[1]}\n" in page
    assert "| 300, in the warm-up of 350 |" in page
    assert made.warnings[1] in (tmp_path / "planted.html").read_text(encoding="utf-8")
    assert made.numbers["warnings"] == made.warnings


def test_a_report_of_runs_that_converged_does_not_warn(tmp_path: Path) -> None:
    known = facts(50, ("en",))
    plan = make_plan(Study.model_validate(STUDY), facts=known, seeds=1)
    options = Options("planted", tmp_path / "runs")
    plant(plan, known, options, lambda *_: 0.5)
    made = make_document("planted", collect(plan, known, options), options, {}, "study", 1)
    write_report(made, tmp_path)
    assert made.warnings == []
    assert "warnings" not in made.numbers
    assert "Convergence" not in (tmp_path / "planted.md").read_text(encoding="utf-8")
