"""Reports name the machines and the commit of their runs; drafts say that they are drafts."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import polyglance
from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.studies.report import write_report
from polyglance.studies.report.origin import UNKNOWN, Origin
from polyglance.studies.running.machine import check_clean, commit
from tests.conftest import write_toy
from tests.studies.report.test_report import STUDY, document, planted


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    done = subprocess.run(
        ["git", "-C", str(folder), *names, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a package and documents, which the package seems to be run from."""
    root = tmp_path / "checkout"
    for name in ("src/polyglance/__init__.py", "docs/studies/README.md"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("first\n")
    (root / ".gitignore").write_text("reports/\n")
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    monkeypatch.setattr(polyglance, "__file__", str(root / "src/polyglance/__init__.py"))
    return root


def test_a_commit_is_dirty_where_the_package_differs(checkout: Path) -> None:
    clean = git(checkout, "rev-parse", "--short=12", "HEAD")
    assert commit() == clean
    (checkout / "docs/studies/README.md").write_text("a report\n")
    assert commit() == clean
    (checkout / "src/polyglance/new.py").write_text("")
    assert commit() == f"{clean}-dirty"


def test_a_report_in_the_repository_needs_a_clean_commit(checkout: Path, tmp_path: Path) -> None:
    check_clean(checkout / "docs")
    (checkout / "src/polyglance/__init__.py").write_text("second\n")
    with pytest.raises(PolyglanceError, match=r"clean commits, but src/polyglance/__init__.py is"):
        check_clean(checkout / "docs" / "studies")
    check_clean(checkout / "reports")
    check_clean(tmp_path)
    git(checkout, "commit", "-qam", "second")
    check_clean(checkout / "docs")


def test_the_command_refuses_before_it_trains(checkout: Path, tmp_path: Path) -> None:
    (checkout / "src/polyglance/__init__.py").write_text("second\n")
    toy, runs = str(write_toy(tmp_path / "toy", photos=40)), tmp_path / "runs"
    words = ["study", "kadar-table2", "--data", toy, "--profile", "quick", "--runs", str(runs)]
    result = CliRunner().invoke(app, [*words, "--out", str(checkout / "docs")])
    assert isinstance(result.exception, PolyglanceError | SystemExit)
    assert not runs.exists()


def test_without_a_checkout_there_is_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polyglance, "__file__", str(tmp_path / "__init__.py"))
    assert commit() == ""
    check_clean(tmp_path)


def remade(results, options, machines: dict[str, str], code: str = "abc") -> None:
    """Say for each row where its runs were made."""
    for run in results.plan.runs.values():
        folder = options.folder(run)
        name = run.labels[0].split(",")[0]
        folder.finish(replace(folder.outcome(), machine=machines.get(name), commit=code))


def test_machines_stand_beside_rows_where_there_are_several(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    remade(results, options, {"low": "AMD", "same": "Intel", "high": "Intel"})
    write_report(document(results, options), tmp_path)
    text = (tmp_path / "planted.md").read_text()
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if line[:1] == "|"}
    assert lines["low"].endswith(" B |")
    assert lines["same"].endswith(" A |")
    assert lines["high, seed 0"].endswith(" A |")
    assert "Machines: A Intel, B AMD." in text
    rows = json.loads((tmp_path / "planted.json").read_text())["rows"]
    assert [row["machines"] for row in rows] == [["AMD"], ["Intel"], ["Intel"]]
    page = (tmp_path / "planted.html").read_text()
    assert page.count("<th>machine</th>") == 2


def test_one_machine_is_named_once(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    remade(results, options, dict.fromkeys(("low", "same", "high"), "AMD"))
    write_report(document(results, options), tmp_path)
    text = (tmp_path / "planted.md").read_text()
    assert "Machines:" not in text
    assert "| machine" not in text
    assert "- runs' commits: abc (9)" in text


def test_runs_that_wrote_nothing_down_are_unknown(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    origin = Origin.of(results.plan, options)
    assert set(origin.machines.values()) == {UNKNOWN}
    assert origin.letters == {}


def test_a_draft_is_marked_everywhere(tmp_path: Path) -> None:
    results, options = planted(tmp_path, STUDY)
    remade(results, options, {}, "abc-dirty")
    write_report(document(results, options), tmp_path)
    reason = "9 of 9 runs were made by code with uncommitted changes (abc-dirty)"
    assert reason in json.loads((tmp_path / "planted.json").read_text())["draft"]
    assert "> **Draft:**" in (tmp_path / "planted.md").read_text()
    assert reason in (tmp_path / "planted.html").read_text()
    remade(results, options, {}, "abc")
    made = replace(document(results, options), draft=[])
    write_report(made, tmp_path)
    assert "Draft" not in (tmp_path / "planted.md").read_text()
