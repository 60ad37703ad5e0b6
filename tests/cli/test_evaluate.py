import json

import pytest

from polyglance.errors import PolyglanceError


def test_one_model_prints_and_writes_everything(command, tmp_path):
    out = tmp_path / "new" / "folder"
    text = command(
        "1-0",
        *("--json", str(out / "r.json"), "--markdown", str(out / "r.md")),
        *("--trec", str(out / "trec"), "--clip-benchmark", str(out / "clip")),
        *("--bootstrap", "50", "--strict"),
    )
    assert "1-0 on toy/test" in text
    assert "de†" in text
    value = json.loads((out / "r.json").read_text())
    assert list(value["languages"]) == ["de", "en"]
    assert value["languages"]["en"]["captions"] == 60
    assert 0 < value["languages"]["en"]["image_to_text_strict"]["r1"] <= 20
    assert "ranks" not in value["languages"]["en"]
    low, high = value["languages"]["en"]["intervals"]["mr"]
    assert low < value["languages"]["en"]["mr"] < high
    assert (out / "r.md").read_text().count("| en |") == 1
    names = {
        f"{code}.{side}.{end}"
        for code in ("de", "en")
        for side in ("i2t", "t2i")
        for end in ("run", "qrels")
    }
    assert {path.name for path in (out / "trec").iterdir()} == names
    assert len(list((out / "clip").iterdir())) == 2


def test_languages_kinds_and_folds(command, tmp_path):
    path = tmp_path / "r.json"
    command(
        "1-0",
        "--languages",
        "en",
        "--kinds",
        "independent",
        "--folds",
        "3",
        "--bootstrap",
        "0",
        "--json",
        str(path),
    )
    value = json.loads(path.read_text())
    assert list(value["languages"]) == ["en"]
    assert value["folds"] == 3
    assert value["languages"]["en"]["intervals"] == {}


def test_several_models_are_compared(command, tmp_path):
    path = tmp_path / "r.json"
    text = command("1-0", "30-1", "--json", str(path), "--bootstrap", "200")
    assert "toy/test: 2 runs" in text
    test = json.loads(path.read_text())["comparison"]["differences"]["30-1"]["all"]["mr"]
    assert test["difference"] < 0
    assert test["p"] < 0.05


def test_stored_ranks_compare_like_the_models(command, tmp_path):
    stored, first, second = (tmp_path / f"{name}.json" for name in ("30-1", "a", "b"))
    command("30-1", "--json", str(stored), "--ranks")
    command("1-0", "30-1", "--json", str(first))
    command("1-0", str(stored), "--json", str(second))
    assert json.loads(first.read_text()) == json.loads(second.read_text())
    command(str(stored), data=False)


def test_seeds_print_mean_and_deviation(command, tmp_path):
    path = tmp_path / "r.json"
    text = command("2-0", "2-1", "2-2", "--seeds", "--json", str(path))
    value = json.loads(path.read_text())
    runs = [run["languages"]["en"]["mr"] for run in value["runs"]]
    spread = value["seeds"]["en"]["mr"]
    assert spread["mean"] == pytest.approx(sum(runs) / 3)
    assert f"{spread['mean']:.1f} ± {spread['sd']:.1f}" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1-0", "--split", "tset"], "no split 'tset'"),
        (["1-0", "--languages", "fr"], "no captions in language 'fr'"),
        (["1-0", "--seeds"], "at least two models"),
        (["1-0", "--trec", "x", "--folds", "2"], "remove --folds"),
        (["1-0", "1-0"], "named twice"),
        (["1-0", "2-0", "--bootstrap", "0"], "needs --bootstrap"),
        (["missing.json"], "no such file"),
        (["1-0", "--ranks"], "--ranks needs --json FILE"),
        (["1-0", "--lexicon", "none"], "--lexicon needs --perturb unseen:RATE or --perturb code-"),
        (["1-0", "--lexicon", "none", "--perturb", "typos:0.1"], "--lexicon needs --perturb"),
        (["1-0", "--lexicon", "none", "--perturb", "unseen:0.1"], "none: no such file"),
        (["1-0", "--same-text", "--strict"], "--same-text cannot be combined with --folds"),
        (["1-0", "--translate-to", "en"], "--translate-to needs a --translator"),
    ],
)
def test_bad_requests_are_one_sentence(command, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolyglanceError, match=message):
        command(*arguments)


def test_outputs_are_checked_before_the_work(command, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyglanceError, match="is a folder"):
        command("1-0", "--json", str(tmp_path))
    with pytest.raises(PolyglanceError, match="cannot be created"):
        command("1-0", "--markdown", str(tmp_path / "file" / "r.md"))
    with pytest.raises(PolyglanceError, match="with --data"):
        command("1-0", data=False)


def test_a_refused_request_makes_no_folder(run, tmp_path):
    with pytest.raises(PolyglanceError):
        run("evaluate", "m", "--data", "d", "--folds", "5", "--trec", tmp_path / "trec")
    assert not (tmp_path / "trec").exists()
