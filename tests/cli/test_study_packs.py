"""`polyglance study --pack, --with, --minutes`: machines with folders of runs of their own."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.studies.running.store import RunFolder
from tests.conftest import TOY, write_toy

STUDY = {
    "title": "Two systems",
    "paper": "nobody",
    "overrides": TOY,
    "columns": [{"language": "en"}, {"language": "de"}, {"name": "M", "parameters": "words"}],
    "rows": [
        {"name": "hinge", "recipe": "vsepp", "baseline": True},
        {"name": "nce", "recipe": "nce", "overrides": {"training.warmup_updates": 0}},
    ],
    "claims": [{"text": "InfoNCE is better", "compare": ["nce > hinge"]}],
    "profiles": {"standard": {"seeds": 1}},
}
TIMES = re.compile(r"(\d+ h )?[\d.]+ (min|s)\b|\d{4}-\d\d-\d\d \d\d:\d\d|\"(seconds|memory)\": .*")


def study(*words: object) -> Result:
    result = CliRunner().invoke(app, ["study", *map(str, words)])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, a study, and machine A, which ran one of its two rows."""
    folder = tmp_path_factory.mktemp("place")
    write_toy(folder / "toy")
    (folder / "two.yaml").write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    study(*words(folder, "A"), "--rows", "hinge", "--pack", folder / "a.zip")
    return folder


def words(place: Path, runs: str) -> list[object]:
    return [place / "two.yaml", "--data", place / "toy", "--runs", place / runs]


def told(place: Path, runs: Path | str, *more: object) -> str:
    """What a study says that takes in the runs of machine A."""
    return study(*words(place, str(runs)), "--with", place / "a.zip", *more).output


def without_times(folder: Path) -> dict[str, str]:
    return {
        path.name: TIMES.sub("TIME", path.read_text(encoding="utf-8"))
        for path in sorted(folder.iterdir())
    }


def test_two_machines_make_the_report_of_one(place: Path, tmp_path: Path) -> None:
    said = told(place, tmp_path / "B", "--out", tmp_path / "two" / "out")
    assert "a.zip: 1 finished run imported\n" in said
    assert "[2/2] nce, seed 0: done" in said
    study(*words(place, str(tmp_path / "one")), "--out", tmp_path / "single" / "out")
    two, single = (without_times(tmp_path / name / "out") for name in ("two", "single"))
    assert {"two.html", "two.json", "two.md"} <= set(two)
    assert two == single
    numbers = json.loads((tmp_path / "two" / "out" / "two.json").read_text(encoding="utf-8"))
    assert all(cell["mean"] for row in numbers["rows"] for cell in row["cells"].values())


def hinge(folder: Path) -> RunFolder:
    (path,) = (
        path.parent for path in folder.glob("*/run.json") if "hinge" in path.read_text("utf-8")
    )
    return RunFolder(path)


def test_machine_and_commit_stay_those_of_the_training(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "A", tmp_path / "other")
    path = hinge(tmp_path / "other").path / "done.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**value, "machine": "Cray-1", "commit": "abc123"}))
    pack = tmp_path / "packs" / "other.zip"
    assert (
        "1 finished"
        in study(*words(place, str(tmp_path / "other")), "--minutes", 0, "--pack", pack).stdout
    )
    said = study(
        *words(place, str(tmp_path / "B")), "--with", pack.parent, "--out", tmp_path / "out"
    )
    assert "1 finished run imported" in said.output
    numbers = json.loads((tmp_path / "out" / "two.json").read_text(encoding="utf-8"))
    assert numbers["rows"][0]["machines"] == ["Cray-1"]
    assert numbers["rows"][1]["machines"] != ["Cray-1"]
    text = (tmp_path / "out" / "two.md").read_text(encoding="utf-8")
    assert re.search(r"Machines: .*\b[AB] Cray-1", text)
    assert "abc123 (1)" in text


def test_a_new_column_trains_a_run_again_and_reports_it(place: Path, tmp_path: Path) -> None:
    more = {
        **STUDY,
        "columns": [*STUDY["columns"], {"name": "own", "language": "en", "kinds": ["independent"]}],
    }
    more["rows"] = more["rows"][:1]
    del more["claims"]
    (tmp_path / "more.yaml").write_text(yaml.safe_dump(more), encoding="utf-8")
    own = [tmp_path / "more.yaml", *words(place, str(tmp_path / "B"))[1:], "--with"]
    planned = study(*own, place / "a.zip", "--plan").output
    assert "to run again\thinge, seed 0\t" in planned
    assert "1 of 1 runs to do with 1 at a time: about" in planned
    waiting = study(*own, place / "a.zip", "--minutes", 0, "--out", tmp_path / "out").output
    assert "1 run left after the time limit (--minutes)" in waiting
    assert hinge(tmp_path / "B").done, "what was taken in stays until the run starts again"
    said = study(*own, place / "a.zip", "--out", tmp_path / "out").output
    why = "hinge, seed 0: its weights are missing; run again to evaluate it on en as this study"
    assert why in said
    folder = hinge(tmp_path / "B")
    assert folder.has_weights
    assert not (folder.path / "no-weights.txt").exists()
    kept, new = (hinge(place / "A").path, folder.path)
    first, second = (path / "results" / "test.best.de.json" for path in (kept, new))
    assert first.read_bytes() == second.read_bytes()
    assert "0 of 1 runs to do" in study(*own, place / "a.zip", "--plan").output


def test_the_error_for_missing_weights_says_where_they_are(place: Path, tmp_path: Path) -> None:
    told(place, tmp_path / "B", "--plan")
    folder = hinge(tmp_path / "B")
    for named in (folder.path, folder.model):
        asked = ["pooling", str(named), "--out", str(tmp_path / "x.png")]
        error = CliRunner().invoke(app, asked).exception
        assert isinstance(error, PolyglanceError)
        assert str(error).startswith(f"{named}: no model; the run was imported from a.zip")
        assert f"delete {folder.path} and run 'polyglance study' with --rows 'hinge'" in str(error)


def test_a_bad_pack_ends_the_command_with_code_2(place: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes((place / "a.zip").read_bytes()[:-30])
    own = [*words(place, str(tmp_path / "B")), "--with", tmp_path / "bad.zip", "--plan"]
    asked = [sys.executable, "-m", "polyglance", "study", *map(str, own)]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'bad.zip'}: a damaged pack of")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "B").exists()


MISTAKES: dict[str, tuple[Callable[[Path], list[object]], str]] = {
    "plan": (lambda path: ["--pack", path / "x.zip", "--plan"], "--plan runs nothing"),
    "suffix": (lambda path: ["--pack", path / "x.tar"], "must end in .zip"),
    "empty": (lambda path: ["--plan", "--with", path], "has no .zip file written by --pack"),
    "missing": (lambda path: ["--plan", "--with", path / "x.zip"], "no such pack of runs"),
    "neither": (lambda path: ["--minutes", "5"], "pass --out, a folder for the report, or"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_invalid_options_are_refused_before_the_work(
    name: str, place: Path, tmp_path: Path
) -> None:
    more, why = MISTAKES[name]
    with pytest.raises(PolyglanceError, match=why):
        study(*words(place, str(tmp_path / "B")), *more(tmp_path))


MEASURED = ["gpo-synthetic", "--profile", "quick", "--seeds", 1, "--set", "steps=3"]


def test_evening_by_evening_with_one_pack(tmp_path: Path) -> None:
    """Runs of a measured study; every evening's machine is lost but for the pack."""
    pack = tmp_path / "runs.zip"
    own = [*MEASURED, "--rows", "interp*", "--pack", pack, "--runs"]
    first = study(*own, tmp_path / "first", "--minutes", 0, "--out", tmp_path / "out").output
    assert "5 runs left after the time limit (--minutes); run the same command to continue" in first
    assert "0 finished" in first
    study(*own, tmp_path / "second", "--minutes", 60)
    for path in (tmp_path / "second").glob("*/done.json"):
        value = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**value, "seconds": 3000.0}), encoding="utf-8")
    kept = sorted((tmp_path / "second").iterdir())
    for path in kept[2:]:
        shutil.rmtree(path)
    pack.unlink()
    short = study(*own, tmp_path / "second", "--minutes", 5).output
    assert (
        "3 runs left after the time limit (--minutes), about 2 h 30 min; the shortest 50 min"
        in short
    )
    assert f"runs: {pack}, 2 finished" in short
    last = study(*own, tmp_path / "third", "--minutes", 600, "--out", tmp_path / "out").output
    assert f"{pack}: 2 finished runs imported" in last
    assert f"runs: {pack}, 5 finished" in last
    assert "left after the time limit" not in last
    text = (tmp_path / "out" / "gpo-synthetic.md").read_text(encoding="utf-8")
    assert re.search(r"\| Interp\. \| 0\.000 \| 0\.000", text)
    assert (tmp_path / "out" / "gpo-synthetic.experiment.svg").is_file()
