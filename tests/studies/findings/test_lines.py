"""A line for every section: rows that are labelled alike."""

import re
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.storage.files import write_json
from polyglance.studies import Study, load_study, make_plan
from polyglance.studies.findings.results import collect
from polyglance.studies.plan import Run
from polyglance.studies.report import make_document
from polyglance.studies.running.execute import Options
from tests.studies.planted import facts, plant


def row(name: str, label: str, recipe: str, codes: list[str] | None) -> dict:
    overrides = {} if codes is None else {"data.languages": codes}
    return {"name": name, "label": label, "recipe": recipe, "overrides": overrides}


def section(title: str, recipe: str) -> dict:
    rows = [row(f"{recipe}-one", "one", recipe, ["en"]), row(f"{recipe}-all", "all", recipe, None)]
    return {"title": title, "rows": rows}


STUDY = {
    "title": "Languages",
    "paper": "Nobody 2020",
    "columns": [{"name": code, "language": code, "metric": "mr"} for code in ("en", "de")],
    "lines": {"label": "languages", "y": ["en", "de"]},
    "sections": [section("Words: a table", "cmlr"), section("Characters", "liwe")],
    "profiles": {"standard": {"seeds": 2}},
}
STUDY["sections"][1]["rows"].append(row("more", "aligned", "liwe-joint", None))


def test_sections_are_lines_through_the_labels_that_all_have(tmp_path: Path) -> None:
    known, options = facts(60, ("de", "en")), Options("planted", tmp_path / "runs")
    plan = make_plan(Study.model_validate(STUDY), facts=known)
    assert plan.study.steps == ["one", "all"]

    def quality(run: Run, _: object) -> float:
        return 0.6 if "all" in run.labels[0] else 0.4

    plant(plan, known, options, quality)
    document = make_document("planted", collect(plan, known, options), options, {}, "command", 1)
    assert [plot.name for plot in document.plots] == ["lines", "bars"]
    drawn = document.plots[0].svg.decode()
    found = re.findall(r"<!-- (.*?) -->", drawn)
    assert found.count("languages") == 2
    assert {"Words", "Characters", "en mR", "de mR", "one", "all"} <= set(found)
    assert "aligned" not in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lines": {"label": "x", "y": ["fr"]}}, "lines: there is no column 'fr'"),
        ({"sections": STUDY["sections"][:1]}, None),
        (
            {"sections": [{"title": "a", "rows": STUDY["sections"][0]["rows"][:1]}]},
            "fewer than two labels",
        ),
    ],
)
def test_lines_are_checked(tmp_path: Path, change: dict, message: str | None) -> None:
    path = tmp_path / "study.json"
    write_json(path, {**STUDY, **change})
    path = path.rename(path.with_suffix(".yaml"))
    if message is None:
        assert load_study(str(path)).steps == ["one", "all"]
        return
    with pytest.raises(PolyglanceError, match=message):
        load_study(str(path))
