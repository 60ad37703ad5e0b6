import json

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.errors import PolyglanceError
from polyglance.studies import load_study, make_plan
from polyglance.studies.experiments.word_alignment import AlignmentSettings, measures, run


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two languages of which one leaves out words: a7 is b7, topics of ten, frequent ones first."""
    folder = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(0)
    photos = []
    for number in range(600):
        topic = 10 * int(generator.integers(6))
        words = topic + np.minimum(generator.geometric(0.25, 6) - 1, 9)
        said = {"aa": words, "bb": words[generator.random(6) < 0.8]}
        captions = {
            code: {"translation": [" ".join(f"{code[0]}{word}" for word in own) or "nothing"]}
            for code, own in said.items()
        }
        photos.append(CaptionedImage(f"{number}.jpg", "train", captions))
    save_folder(folder / "pairs", photos)
    return folder / "pairs"


def settings(**changes):
    return AlignmentSettings(pair="aa-bb", dim=40, dictionary="captions", **changes)


def test_texts_of_one_meaning_align(data, tmp_path):
    dataset = load_dataset(str(data))
    found = {
        method: run(settings(method=method), dataset, tmp_path).values["NN aa-bb"]
        for method in ("none", "svd")
    }
    assert found["svd"] > found["none"] + 20
    assert list(run(settings(), dataset, tmp_path).values) == measures(settings())


def test_seeds_hold_out_other_words(data, tmp_path):
    dataset = load_dataset(str(data))
    values = [run(settings(method="svd", seed=s), dataset, tmp_path).values for s in (0, 0, 1, 2)]
    assert values[0] == values[1]
    assert len({tuple(one.values()) for one in values}) > 1


def test_the_study_asks_for_data_and_keeps_runs_by_its_content(data, tmp_path):
    study = load_study("translator-alignment")
    assert {len(make_plan(study, p).lines) for p in study.profiles} == {12}
    words = ["study", "translator-alignment", "--profile", "quick", "--seeds", "1", "--jobs", "1"]
    words += ["--set", "pair=aa-bb", "--runs", str(tmp_path / "runs"), "--rows", "svd"]
    words += ["--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert isinstance(result.exception, PolyglanceError)
    assert "with --data" in str(result.exception)
    plan = CliRunner().invoke(app, [*words, "--data", str(data), "--plan"])
    assert isinstance(plan.exception, PolyglanceError)  # the columns are of other languages
    assert "has no measure 'NN fr-de'" in str(plan.exception)


def test_a_measured_run_on_data(data, tmp_path):
    path = tmp_path / "small.yaml"
    value = {
        "title": "Words",
        "paper": "Nobody",
        "experiment": "word-alignment",
        "settings": {"pair": "aa-bb", "dim": 40, "dictionary": "captions", "method": "svd"},
        "columns": [{"measure": "NN aa-bb", "unit": "P@1"}],
        "rows": [{"name": "svd"}],
        "profiles": {"standard": {"seeds": 1}},
    }
    path.write_text(json.dumps(value), encoding="utf-8")
    words = ["study", str(path), "--data", str(data), "--runs", str(tmp_path / "runs")]
    words += ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "out" / "small.json").read_text(encoding="utf-8"))
    assert report["rows"][0]["cells"]["NN aa-bb"]["mean"] > 30
    assert "fingerprint" not in report["about"]["command"]
    (run_,) = report["runs"].values()
    assert len(run_["settings"]["fingerprint"]) == 64
