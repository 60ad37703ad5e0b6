"""The package's functions as its docstring and the docs call them: places are plain text."""

import polyglance
from polyglance.recipes.merge import parse_overrides
from tests.conftest import TOY, write_toy


def test_train_evaluate_search_and_add_a_language(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dataset = polyglance.load_dataset(str(write_toy(tmp_path / "toy")))
    recipe = polyglance.load_recipe("nce", parse_overrides([*TOY, "training.epochs=8"]))

    result = polyglance.train(recipe, dataset, "runs/mine", show_progress=False)
    model = polyglance.load("runs/mine")
    assert model.languages == result.model.languages == ["de", "en"]

    report = polyglance.evaluate(model, dataset, folds=2, bootstrap=0, show_progress=False)
    assert report.folds == 2
    assert report["de"].metrics.mr > 30

    found = polyglance.search(model, dataset, ["red dog", "blau katze"], top=3, language="en")
    assert [len(one.hits) for one in found] == [3, 3]

    (tmp_path / "fr-en.txt").write_text("rouge red\nchien dog\n", encoding="utf-8")
    added = polyglance.add_language("runs/mine", "fr", "runs/fr", {"dictionary": "fr-en.txt"})
    assert added.words == 2
    assert polyglance.load("runs/fr").languages == ["de", "en", "fr"]
