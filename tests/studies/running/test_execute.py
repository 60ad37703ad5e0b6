"""Running: resumed after a kill, isolated failures, nothing done twice, the command end to end."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import equal
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.evaluation import load_report
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.studies.format.needs import Need
from polyglance.studies.keys.fingerprint import training_fields
from polyglance.studies.plan import Run
from polyglance.studies.running import pool as pool_module
from polyglance.studies.running.execute import Options, _extract
from polyglance.studies.running.pool import FAILED, Pool
from polyglance.studies.running.store import RunFolder, RunOutcome
from polyglance.studies.running.times import Estimate
from polyglance.studies.running.worker import Task, perform
from tests.conftest import TOY, write_toy
from tests.studies.planted import facts

FEATURE = "image.feature=imported/toy"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("data") / "toy")


def task(folder: Path, data: Path, *overrides: str) -> Task:
    recipe = training_fields(load_recipe("vsepp", parse_overrides([*TOY, *overrides]), shared=True))
    needs = [Need(None, "de"), Need(("independent",), "en")]
    spec = {"recipe": recipe.model_dump(mode="json")}
    return Task(str(folder), spec, str(data), "test", needs)


def command(*words: object) -> object:
    result = CliRunner().invoke(app, ["study", *map(str, words)])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    return result


def test_a_killed_worker_is_replaced_and_its_run_resumed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "TICK_SECONDS", 0.02)
    long = "training.epochs=40"
    RunFolder(tmp_path / "ended").finish(RunOutcome(1.0))
    ended = Task(**{**vars(task(tmp_path / "ended", data)), "needs": []})
    tasks = [task(tmp_path / "killed", data, long), ended]
    checkpoint = tmp_path / "killed" / "model" / "checkpoint.safetensors"
    ends: dict[int, str] = {}
    killed_it = False
    with Pool(tasks, 1) as pool:
        for event in pool.events():
            if event is None and checkpoint.is_file() and not killed_it:
                pool._processes[0].kill()
                killed_it = True
            elif event is not None and event[1] != "start":
                ends[event[0]] = event[1]
    assert ends[0].startswith(f"{FAILED}the worker process ended by signal 9")
    assert ends[1] == ""
    killed, other = RunFolder(tmp_path / "killed"), RunFolder(tmp_path / "straight")
    assert not killed.done
    assert killed.failure().kind == "crash"
    assert perform(tasks[0]) == perform(task(other.path, data, long)) == ""
    first, second = (load_file(f.model / "model.safetensors") for f in (killed, other))
    assert all(equal(first[name], second[name]) for name in second)
    assert killed.failure() is None
    assert killed.outcome().updates == other.outcome().updates
    assert not checkpoint.exists()


def test_a_worker_ends_with_its_parent() -> None:
    words = [sys.executable, "-m", "polyglance.studies.running.worker"]
    worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(timeout=60) == 0


def test_a_finished_run_is_reevaluated_but_not_trained(data: Path, tmp_path: Path) -> None:
    first = task(tmp_path / "run", data)
    assert perform(first) == ""
    folder = RunFolder(tmp_path / "run")
    before = (folder.model / "model.safetensors").stat().st_mtime_ns
    need = Need(("independent",), "de")
    assert folder.lacking("test", {need}) == [need]
    assert perform(Task(**{**vars(first), "needs": [need]})) == ""
    assert (folder.model / "model.safetensors").stat().st_mtime_ns == before
    assert folder.complete("test", {need, *first.needs})


def test_what_a_kill_in_the_first_second_leaves_is_cleared(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "run" / "model" / "vocabulary.json").write_text("{", encoding="utf-8")
    assert perform(task(tmp_path / "run", data)) == ""


def test_features_are_extracted_once_before_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a/global", "imported/x", "a/global", "broken/grid"]
    runs = [Run("", load_recipe("vsepp", {"image.feature": name})) for name in names]
    asked = []

    def load(dataset: object, name: str, *_: object, **__: object) -> None:
        asked.append(name)
        if name.startswith("broken"):
            raise PolyglanceError("no such extractor")

    monkeypatch.setattr("polyglance.vision.extraction.extract.load_features", load)
    _extract(runs, facts(3), Options("data", Path("runs")))
    assert asked == ["a/global", "broken/grid"]


def test_durations_are_estimated_from_other_seeds_then_from_all() -> None:
    estimate = Estimate()
    assert estimate.of("a") is None
    estimate.add("a", 10)
    estimate.add("b", 30)
    assert (estimate.of("a"), estimate.of("b"), estimate.of("c")) == (12, 32, 22)


def test_the_command_end_to_end(data: Path, tmp_path: Path) -> None:
    words = ["vsepp-languages", "--data", data, "--profile", "quick", "--seeds", 1]
    words += ["--runs", tmp_path / "runs", "--set", FEATURE]
    planned = command(*words, "--plan")
    assert "4 of 4 runs to do" in planned.stdout
    assert "very roughly" in planned.stdout
    result = command(*words, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    numbers = json.loads((tmp_path / "out" / "vsepp-languages.json").read_text(encoding="utf-8"))
    rows = {row["row"]: row["cells"] for row in numbers["rows"]}
    assert rows["vsepp-en"]["de"]["mean"] is None
    stored = {run["labels"][0]: key for key, run in numbers["runs"].items()}
    folder = RunFolder(tmp_path / "runs" / stored["vsepp-all, seed 0"])
    report = load_report(folder.result("test", Need(None, "de")))
    assert rows["vsepp-all"]["de"]["mean"] == report["de"].metrics.mr
    assert "started on" in folder.log.read_text(encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    again = command(*words, "--out", tmp_path / "out")
    assert again.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")} == before
    assert "0 of 4 runs to do" in command(*words, "--plan").stdout
    more = command(*words[:-6], "--seeds", 2, *words[-4:], "--rows", "nce*", "--plan")
    assert re.search(r"to run\tnce-en, seed 1\t[\d.]+ s", more.stdout)
    assert "2 of 4 runs to do" in more.stdout
    both = command(*words[:-6], "--seeds", 2, *words[-4:], "--rows", "vsepp-*,nce-en", "--plan")
    assert "3 of 6 runs to do" in both.stdout


FAILING = """
title: One fails
paper: nobody
columns: [{language: en}]
rows:
  - {name: good, recipe: vsepp, baseline: true}
  - {name: bad, recipe: vsepp, runs: [{overrides: {data.kinds: [spoken]}, languages: [en]}]}
claims: [{text: bad is better, compare: [bad > good]}]
profiles: {standard: {seeds: 1}}
"""


def test_a_failure_leaves_the_other_runs_alone(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "failing.yaml"
    path.write_text(FAILING, encoding="utf-8")
    words = [path, "--data", data, "--runs", tmp_path / "runs", "--out", tmp_path / "out"]
    words += [word for change in TOY for word in ("--set", change)]
    result = command(*words)
    assert result.exit_code == 1
    assert "1 of 2 runs failed" in result.output
    assert "bad, seed 0" in result.output
    text = (tmp_path / "out" / "failing.md").read_text(encoding="utf-8")
    assert re.search(r"\| good \| [\d.]+ \|", text)
    assert "| bad | failed |" in text
    assert "no captions in the requested languages and" in text
    assert "bad is better: not tested" in text
    log = next((tmp_path / "runs").glob("*/failure.json")).parent / "log.txt"
    before = log.read_text(encoding="utf-8")
    assert command(*words).exit_code == 1
    assert log.read_text(encoding="utf-8") == before
    assert command(*words, "--retry").exit_code == 1
    assert log.read_text(encoding="utf-8") != before


def test_the_list_and_mistakes_of_the_command(data: Path, tmp_path: Path) -> None:
    listed = command("--list").stdout
    assert "vsepp-languages\tOne language or all together\tquick 8, standard 12, paper 12" in listed
    with pytest.raises(PolyglanceError, match="pass the images and captions with --data"):
        command("vsepp-languages", "--out", tmp_path / "out")
    with pytest.raises(PolyglanceError, match="gpo-synthetic needs no images; leave out --data"):
        command("gpo-synthetic", "--data", data, "--plan")
    with pytest.raises(PolyglanceError, match="pass --out"):
        command("vsepp-languages", "--data", data)
    with pytest.raises(PolyglanceError, match="no row matches 'x'"):
        command("vsepp-languages", "--data", data, "--plan", "--rows", "nce*,x")


DAMAGE = ['{"updates": 3}', '{"seconds": "long"}', '{"seconds": 1', "", "[]"]


@pytest.mark.parametrize("text", DAMAGE)
def test_a_run_whose_end_cannot_be_read_has_not_ended(tmp_path: Path, text: str) -> None:
    folder = RunFolder(tmp_path)
    folder.finish(RunOutcome(1.0))
    assert folder.done
    (tmp_path / "done.json").write_text(text, encoding="utf-8")
    (tmp_path / "failure.json").write_text(text, encoding="utf-8")
    assert not folder.done
    assert folder.outcome() is None
    assert folder.failure() is None


def test_a_damaged_run_is_run_again_and_a_damaged_result_evaluated_again(
    data: Path, tmp_path: Path
) -> None:
    own = task(tmp_path / "run", data)
    folder = RunFolder(tmp_path / "run")
    assert perform(own) == ""
    weights = load_file(folder.model / "model.safetensors")
    result = folder.result("test", own.needs[0])
    whole = result.read_text(encoding="utf-8")
    for text in (whole[: len(whole) // 2], "{}", whole.replace('"ranks"', '"rankz"')):
        result.write_text(text, encoding="utf-8")
        (folder.path / "results" / ".x.json.abcdefgh").write_text("half")
        assert folder.lacking("test", set(own.needs)) == [own.needs[0]]
        assert perform(own) == ""
        assert result.read_text(encoding="utf-8") == whole
        assert not (folder.path / "results" / ".x.json.abcdefgh").exists()
    (folder.path / "done.json").write_text("{", encoding="utf-8")
    assert perform(own) == ""
    again = load_file(folder.model / "model.safetensors")
    assert folder.done
    assert all(equal(weights[name], again[name]) for name in weights)
