"""Ensembles: the mean of score matrices, whatever the members are."""

import json
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.evaluation import Ensemble, cosine, evaluate, order
from polyglance.evaluation.reports.export import write_trec

from .conftest import FakeModel, make_dataset, make_vectors
from .ranking.test_ranks import brute_force
from .ranking.test_ranks_sets import SetModel, total


@pytest.fixture
def dataset():
    return make_dataset(15, {"en": 3, "de": 1})


def fake(dataset, seed, similarity="cosine", languages=("en", "de"), dimension=6):
    vectors = {k: np.abs(v) for k, v in make_vectors(dataset, dimension, seed).items()}
    model = FakeModel(vectors, list(languages), 2.0, seed)
    model.similarity_name = similarity
    return model


def scores_of(model, score, dataset):
    part = dataset.split("test")
    texts = part.captions(["en"]).texts
    return score(model.encode_dataset(part), model.encode_text(texts, "en"))


def test_scores_are_the_mean_of_the_members(dataset):
    members = [
        fake(dataset, 0),
        fake(dataset, 1, dimension=9),
        fake(dataset, 2, "order"),
        SetModel(),
    ]
    matrices = [
        scores_of(model, score, dataset)
        for model, score in zip(members, (cosine, cosine, order, total), strict=True)
    ]
    ensemble, found = Ensemble(members), []
    report = evaluate(ensemble, dataset, languages=["en"], bootstrap=0, on_language=found.append)
    mean = np.mean(matrices, axis=0)
    np.testing.assert_allclose(
        ensemble.similarity(found[0].images, found[0].captions), mean, rtol=1e-4, atol=1e-5
    )
    expected = brute_force(mean.tolist(), found[0].caption_image.tolist())
    assert report["en"].outcome.ranks.text_to_image.tolist() == expected[1]
    assert report["en"].outcome.ranks.image_to_text.tolist() == expected[0]
    assert report.similarity == "mean of cosine, cosine, order, total"
    assert ensemble.mixed
    assert not Ensemble(members[:2]).mixed


def test_an_ensemble_of_one_is_that_model(dataset):
    model = fake(dataset, 0)
    alone, joint = (evaluate(m, dataset, bootstrap=0) for m in (model, Ensemble([model])))
    assert [r.metrics for r in alone.results] == [r.metrics for r in joint.results]


def test_two_good_models_are_better_together():
    dataset = make_dataset(60, {"en": 3})
    vectors = make_vectors(dataset)
    members = [FakeModel(vectors, ["en"], 1.0, seed) for seed in (0, 1)]
    alone = [evaluate(member, dataset, bootstrap=0)["en"].metrics.mr for member in members]
    assert evaluate(Ensemble(members), dataset, bootstrap=0)["en"].metrics.mr > max(alone)


def test_a_picture_that_one_cannot_read_is_left_out(dataset):
    first, second = fake(dataset, 0), fake(dataset, 1)
    first.images["2.jpg"] = np.full(6, np.nan, np.float32)
    second.images["7.jpg"] = np.full(6, np.nan, np.float32)
    report = evaluate(Ensemble([first, second, SetModel("9.jpg")]), dataset, bootstrap=0)
    assert report.unreadable == ["2.jpg", "7.jpg", "9.jpg"]


def test_each_member_is_queried_in_its_languages(dataset):
    first, second = fake(dataset, 0, languages=["en"]), fake(dataset, 1, languages=["de"])
    report = evaluate(Ensemble([first, second]), dataset, bootstrap=0)
    assert report["en"].known
    assert report["de"].known
    assert first.asked == [None, "en"]
    assert second.asked == ["de", None]
    neither = evaluate(Ensemble([first]), dataset, bootstrap=0)
    assert not neither["de"].known


def test_trec_of_an_ensemble(dataset, tmp_path):
    ensemble, found = Ensemble([fake(dataset, 0), SetModel()]), []
    evaluate(ensemble, dataset, languages=["en"], bootstrap=0, on_language=found.append)
    write_trec(tmp_path, found[0], dataset.split("test"), "both")
    first = (tmp_path / "en.i2t.run").read_text().splitlines()[0].split()
    scores = ensemble.similarity(found[0].images, found[0].captions)
    assert float(first[4]) == pytest.approx(scores[0].max(), abs=1e-5)


def test_nothing_to_average():
    with pytest.raises(PolyglanceError, match="needs at least one model"):
        Ensemble([])


def test_the_command_shows_members_and_ensemble(command, tmp_path: Path):
    path = tmp_path / "r.json"
    text = command(
        *("2-0", "2-1", "2-2", "--ensemble", "--json", str(path), "--bootstrap", "50"),
        *("--trec", str(tmp_path / "trec"), "--clip-benchmark", str(tmp_path / "clip")),
    )
    assert "ensemble on toy/test" in text
    assert "toy/test: 4 runs" in text
    value = json.loads(path.read_text())
    assert [run["model"] for run in value["runs"]] == ["2-0", "2-1", "2-2", "ensemble"]
    runs = [run["languages"]["en"]["mr"] for run in value["runs"]]
    assert runs[3] > np.mean(runs[:3])
    test = value["comparison"]["differences"]["ensemble"]["en"]["mr"]
    assert test["difference"] == pytest.approx(runs[3] - runs[0])
    assert {one.name for one in (tmp_path / "trec").iterdir()} == {"2-0", "2-1", "2-2", "ensemble"}
    assert len(list((tmp_path / "clip").iterdir())) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1-0"], "--ensemble needs at least two models"),
        (["1-0", "r.json"], "r.json: contains ranks"),
        (["1-0", "2-0", "--seeds"], "do not go together"),
        (["1-0", "1-0"], "named twice"),
    ],
)
def test_bad_requests(command, arguments, message):
    with pytest.raises(PolyglanceError, match=message):
        command(*arguments, "--ensemble")


def test_progress_bars_are_those_of_the_members(dataset):
    members = [fake(dataset, 0), fake(dataset, 1)]
    shown = []
    for member in members:
        own = member.encode_text

        def encode(texts, language=None, *, show_progress=None, own=own):
            shown.append(show_progress)
            return own(texts, language)

        member.encode_text = encode
    texts = dataset.split("test").captions(["en"]).texts[:2]
    for asked in (True, False, None):
        Ensemble(members).encode_text(texts, "en", show_progress=asked)
    assert shown == [True, True, False, False, None, None]
