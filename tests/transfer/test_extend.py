"""`add_language`: the same outcome as the command's, and nothing else is changed."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data.hold_out import hold_out
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate
from polyglance.evaluation.ranking.metrics import Metrics
from polyglance.transfer import PairTraining, add_language
from polyglance.transfer.extend import check_unchanged, temporary_folder
from tests.training.runs import same
from tests.transfer.sources import KINDS, World

Trained = Callable[[str], Path]


def command(*words: object) -> str:
    result = CliRunner().invoke(app, ["add-language", *map(str, words)])
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.stdout


def table(text: str) -> dict[str, list[float]]:
    rows = (re.findall(r"[\w.]+", line) for line in text.splitlines())
    return {row[0]: list(map(float, row[1:])) for row in rows if len(row) == 8 and "." in row[1]}


def rounded(metrics: Metrics) -> list[float]:
    return [round(value, 1) for value in (*metrics.recalls, metrics.mr)]


def config(folder: Path) -> dict[str, object]:
    value = json.loads((folder / "model.json").read_text())
    assert value["recipe"]["transfer"]["keep"]
    return value


def test_the_same_model_and_recalls_as_the_commands(
    world: World, trained: Trained, tmp_path: Path
) -> None:
    cache, source, toy = world[0] / "cache", trained("table"), world[0] / "toy"
    named = ("--language", "de", "--dictionary", f"captions:{toy}", "--evaluate", toy)
    shown = command(source, *named, "--out", tmp_path / "command", "--cache", cache)
    found = add_language(
        source,
        "de",
        tmp_path / "function",
        {"dictionary": f"captions:{toy}"},
        evaluate_on=world[1],
        cache=cache,
    )
    assert same(tmp_path / "command", tmp_path / "function")
    assert config(tmp_path / "command") == config(tmp_path / "function")
    assert found.gain is not None
    assert found.gain.trained is None
    assert found.gain.before is not None
    gained = {"before": found.gain.before, "dictionary": found.gain.start}
    assert table(shown) == {name: rounded(metrics) for name, metrics in gained.items()}
    assert f"de: {found.words} words by" in shown
    assert f"all {found.unchanged:,} parameters are the same" in shown
    assert f"knows {100 * found.gain.read:.0f} % of the captions' words" in shown
    report = evaluate(found.model, world[1], "test", languages=["de"], bootstrap=0, cache=cache)
    assert report.results[0].metrics == found.gain.start
    assert found.gain.images == len(world[1].split("test"))


def test_the_same_with_pairs(world: World, trained: Trained, tmp_path: Path) -> None:
    cache, source, toy = world[0] / "cache", trained("table"), world[0] / "toy"
    (tmp_path / "pairs.txt").write_text("hund dog\nkatze cat\n")
    named = ("--language", "de", "--dictionary", tmp_path / "pairs.txt", "--data", toy)
    named += ("--pairs", 60, "--epochs", 8, "--lr", 0.01)
    shown = command(source, *named, "--out", tmp_path / "command", "--cache", cache)
    found = add_language(
        source,
        "de",
        tmp_path / "function",
        {"dictionary": str(tmp_path / "pairs.txt")},
        PairTraining(world[1], 60, 8, 0.01),
        cache=cache,
    )
    assert same(tmp_path / "command", tmp_path / "function")
    assert found.split == "val"
    assert found.gain is not None
    assert found.gain.trained is not None
    assert table(shown)["pairs"] == rounded(found.gain.trained)
    assert found.gain.trained.mr > found.gain.start.mr + 5
    part = hold_out(world[1])
    report = evaluate(found.model, part, "val", languages=["de"], bootstrap=0, cache=cache)
    assert report.results[0].metrics == found.gain.trained


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_the_model_knew_stays(
    world: World, trained: Trained, tmp_path: Path, kind: str
) -> None:
    old = Model.load(trained(kind))
    found = add_language(
        trained(kind),
        "de",
        tmp_path / "new",
        {"dictionary": f"captions:{world[0] / 'toy'}"},
        PairTraining(world[1], 20, 1),
        cache=world[0] / "cache",
    )
    new = Model.load(tmp_path / "new")
    assert new.languages == ["de", "en"]
    state, before = new.network.state_dict(), old.network.state_dict()
    assert all(state[name].equal(value) for name, value in before.items())
    assert found.unchanged == sum(value.numel() for value in before.values())
    texts = ["red dog runs", "a cat that sleeps"]
    np.testing.assert_array_equal(old.encode_text(texts, "en"), new.encode_text(texts, "en"))
    assert found.words >= 10


def test_a_change_of_the_old_model_would_be_noticed(trained: Trained) -> None:
    old, new = Model.load(trained("table")), Model.load(trained("table"))
    assert check_unchanged(old, new) == sum(v.numel() for v in old.network.state_dict().values())
    name, value = next(iter(new.network.named_parameters()))
    value.data.view(-1)[0] += 1e-3
    with pytest.raises(PolyglanceError, match=rf"'{name}' of the model has changed"):
        check_unchanged(old, new)


@pytest.mark.parametrize(
    ("language", "transfer", "message"),
    [
        ("en", {}, "the model already has 'en'"),
        ("de", {"dictionry": "x"}, "dictionry"),
        ("de", {"dictionary": "nowhere.txt"}, "nowhere.txt: no such file"),
        ("de", {"dictionary": "captions", "pivot": "fr"}, "'fr' is not a language of"),
    ],
)
def test_mistakes_leave_nothing(
    world: World,
    trained: Trained,
    tmp_path: Path,
    language: str,
    transfer: dict[str, str],
    message: str,
) -> None:
    with pytest.raises(PolyglanceError, match=message):
        add_language(trained("table"), language, tmp_path / "new", transfer, evaluate_on=world[1])
    assert not (tmp_path / "new").exists()


KILLED = """
import os, sys
writes = []
def hook(event, arguments):
    # The rename that would give the weights their name a second time: some are there already.
    if event == "os.rename" and str(arguments[1]).endswith("model.safetensors"):
        writes.append(1)
        if len(writes) == 2:
            os._exit(9)
sys.addaudithook(hook)
from polyglance.cli import main
sys.argv = ["polyglance", *sys.argv[1:]]
main()
"""


def test_a_kill_leaves_no_unfinished_model_and_resume_goes_on(
    world: World, trained: Trained, tmp_path: Path
) -> None:
    source, toy, out = trained("table"), world[0] / "toy", tmp_path / "de"
    (tmp_path / "pairs.txt").write_text("hund dog\nkatze cat\n")
    named = ("--language", "de", "--dictionary", tmp_path / "pairs.txt", "--data", toy)
    named += ("--pairs", 60, "--epochs", 3, "--lr", 0.01, "--cache", world[0] / "cache")
    words = ["add-language", *map(str, (source, *named, "--out", out))]
    done = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, capture_output=True)
    assert done.returncode == 9, done.stderr
    assert not out.exists()
    assert (temporary_folder(out) / "model.safetensors").is_file()
    command(source, *named, "--out", out, "--resume")
    assert not temporary_folder(out).exists()
    command(source, *named, "--out", tmp_path / "alone")
    assert same(out, tmp_path / "alone")
    with pytest.raises(PolyglanceError, match="already exists and is not empty"):
        add_language(source, "de", out, {"dictionary": str(tmp_path / "pairs.txt")})


def test_what_was_killed_is_begun_again_without_resume(
    world: World, trained: Trained, tmp_path: Path
) -> None:
    out = tmp_path / "de"
    temporary_folder(out).mkdir()
    (temporary_folder(out) / "model.json").write_text("{")
    (temporary_folder(out) / "encoder").mkdir()
    add_language(trained("table"), "de", out, {"dictionary": f"captions:{world[0] / 'toy'}"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de"]
    assert Model.load(out).languages == ["de", "en"]
