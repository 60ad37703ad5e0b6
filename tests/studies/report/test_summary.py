"""Summaries say what reports say."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.studies.report import write_report
from polyglance.studies.report.summary import claims_table, counts_table, read_claims, renewed
from tests.studies.report.test_report import STUDY, document, planted

DOCS = Path(__file__).parents[3] / "docs" / "studies"
PAGE = """# Mine

<!-- counts of plan* as Planted -->
stale words
<!-- end -->

My words.

<!-- claims of planted -->
<!-- end -->
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{**row, "paper": {}} for row in STUDY["rows"]]
    rows[0]["paper"], rows[2]["paper"] = {"en": 30.0}, {"en": 95.0}
    results, options = planted(tmp_path, {**STUDY, "rows": rows})
    write_report(document(results, options), tmp_path)
    (tmp_path / "README.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def cells(table: str) -> dict[str, list[str]]:
    """By the first cell of each row."""
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_the_published_summary_is_what_the_reports_say() -> None:
    """Else run `polyglance study --again docs/studies`."""
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    assert renewed(page, read_claims(DOCS)) == page


def test_every_published_report_is_in_the_summary() -> None:
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    for report in read_claims(DOCS):
        assert not report.verdicts or f"[{report.name}]({report.name}.md)" in page


def test_a_claim_stands_with_its_difference_and_the_papers(folder: Path) -> None:
    found = cells(claims_table(read_claims(folder), "planted"))
    verdict, here, paper, report = found["high wins"]
    assert verdict == "✔ holds"
    assert here.startswith("+")
    assert paper == "+65.0 (1 of 2 columns)"
    assert report.startswith("[planted](planted.md)")
    assert found["low wins"][0] == "✘ does not hold"
    assert found["low wins"][2] == "-65.0, outside the interval"
    assert found["at least"][:1] == ["○ no significant difference"]
    assert ", margin 10.0 (holds)" in found["within ten"][1]


def test_claims_are_counted(folder: Path) -> None:
    found = cells(counts_table(read_claims(folder), "planted as Planted"))
    assert found == {"Planted": ["8", "2", "2", "3", "1", "0"]}


def test_the_command_renews_tables_and_leaves_words(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("planted.*")}
    result = CliRunner().invoke(app, ["study", "--again", str(folder)])
    assert result.exit_code == 0, result.output
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "My words." in text
    assert "stale words" not in text
    assert "| Planted | 8 |" in text
    assert "| high wins | ✔ holds |" in text
    assert {path.name: path.read_bytes() for path in folder.glob("planted.*")} == before
    again = CliRunner().invoke(app, ["study", "--again", str(folder)])
    assert "summary:" not in again.output


def test_verdicts_follow_the_rules_of_today(folder: Path) -> None:
    path = folder / "planted.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    told = next(claim for claim in value["claims"] if claim["text"] == "at least")
    told["verdict"] = told["evidence"][0]["verdict"] = "holds"  # as former versions judged
    path.write_text(json.dumps(value), encoding="utf-8")
    assert CliRunner().invoke(app, ["study", "--again", str(folder)]).exit_code == 0
    assert "- ○ **at least: no significant difference.**" in (folder / "planted.md").read_text()
    told = json.loads(path.read_text(encoding="utf-8"))["claims"][3]
    assert told["verdict"] == "no significant difference"


def test_a_pattern_without_reports_is_an_error(folder: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"no report matches .other-\*."):
        claims_table(read_claims(folder), "other-*", "README.md")
    result = CliRunner().invoke(app, ["study", "other", "--again", str(folder)])
    assert result.exit_code != 0


def test_a_damaged_report_leaves_the_folder_as_it_is(folder: Path) -> None:
    (folder / "broken.json").write_text("{}", encoding="utf-8")
    before = (folder / "README.md").read_text(encoding="utf-8")
    result = CliRunner().invoke(app, ["study", "--again", str(folder)])
    assert result.exit_code != 0
    assert (folder / "README.md").read_text(encoding="utf-8") == before
