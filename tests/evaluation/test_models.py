"""What `polyglance evaluate` does, as a function."""

import json
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.evaluation import Ensemble, compare, evaluate, evaluate_models

from .conftest import FakeModel, make_dataset, make_vectors


@pytest.fixture
def data():
    dataset = make_dataset(counts={"en": 5, "de": 1})
    vectors = make_vectors(dataset)
    return dataset, [FakeModel(vectors, ["en"], 1.0, 0), FakeModel(vectors, ["en"], 30.0, 1)]


def test_models_are_compared_as_their_reports_are(data):
    dataset, models = data
    found = evaluate_models(models, dataset, bootstrap=50, folds=2)
    alone = [
        evaluate(model, dataset, name=name, bootstrap=50, folds=2)
        for model, name in zip(models, ("model1", "model2"), strict=True)
    ]
    assert [report.as_dict(True) for report in found.reports] == [
        one.as_dict(True) for one in alone
    ]
    assert found["model2"].model == "model2"
    assert found.comparison.as_dict() == compare(alone, 50).as_dict()
    assert [table.title for table in found.tables()][2] == "toy/test: 2 runs"


def test_the_command_writes_what_the_function_gives(command, data, tmp_path):
    paths = {name: tmp_path / name for name in ("r.json", "s.json", "r.md", "s.md")}
    command("1-0", "30-1", "--bootstrap", "20", "--json", str(paths["r.json"]),
            "--markdown", str(paths["r.md"]), "--keep-copies")  # fmt: skip
    found = evaluate_models(["1-0", "30-1"], tmp_path / "toy", bootstrap=20, keep_duplicates=True)
    found.write_json(paths["s.json"])
    found.write_markdown(paths["s.md"])
    assert json.loads(paths["r.json"].read_text()) == json.loads(paths["s.json"].read_text())
    assert paths["r.md"].read_text() == paths["s.md"].read_text()


def test_an_ensemble_is_last_and_on_what_all_can_read(data):
    dataset, models = data
    models[1].images = {**models[1].images, "4.jpg": models[1].images["4.jpg"] * float("nan")}
    models[1].similarity_name = "order"
    found = evaluate_models(models, dataset, bootstrap=10, ensemble=True)
    assert [report.model for report in found.reports] == ["model1", "model2", "ensemble"]
    assert {tuple(report.unreadable) for report in found.reports} == {("4.jpg",)}
    joint = evaluate(Ensemble(models), dataset, bootstrap=10, name="ensemble")
    assert found["ensemble"].as_dict() == joint.as_dict()
    assert found.notes[0].startswith("cosine and order scores have different scales")


def test_one_model_and_seeds(data):
    dataset, models = data
    one = evaluate_models(models[:1], dataset, bootstrap=0)
    assert one.as_dict() == evaluate(models[0], dataset, bootstrap=0).as_dict()
    seeds = evaluate_models(models, dataset, bootstrap=0, seeds=True)
    values = [report["en"].metrics.mr for report in seeds.reports]
    assert seeds.spreads["en"]["mr"].mean == pytest.approx(sum(values) / 2)
    assert list(seeds.as_dict()) == ["runs", "seeds"]
    with pytest.raises(PolyglanceError, match="with `dataset`"):
        evaluate_models(models)
    with pytest.raises(PolyglanceError, match="`seeds` needs at least two models"):
        evaluate_models(models[:1], dataset, seeds=True)
    with pytest.raises(PolyglanceError, match="`trec` writes the full gallery; remove `folds`"):
        evaluate_models(models, dataset, folds=2, trec=Path("trec"))
    with pytest.raises(PolyglanceError, match="no model to evaluate"):
        evaluate_models([], dataset)
