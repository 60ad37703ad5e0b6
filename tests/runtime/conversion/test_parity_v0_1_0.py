"""Exports of the models that version 0.1.0 trained: every kind of embedder, added languages too."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.models import Model
from polyglance.runtime import export_model, load
from polyglance.vision.extraction.extract import load_features
from tests.v0_1_0.test_golden import HERE, MODELS, TEXTS, data_of

LARGEST = 1e-5
UNKNOWN = "xyzzy qwrt"
"""Words that no model has; alone in a text they leave it without any."""


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"scan", "imram"}))
@pytest.mark.filterwarnings("ignore::polyglance.errors.PolyglanceWarning")
def test_the_same_embeddings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE.parents[1])
    model = Model.load(HERE / "models" / name)
    export_model(model, tmp_path / "out")
    other = load(tmp_path / "out")
    for language in model.languages:
        # By itself: in an added language, padding is another vector beside known words.
        for texts in (TEXTS[language], [UNKNOWN]):
            found, expected = (one.encode_text(texts, language) for one in (other, model))
            assert np.abs(found - expected).max() <= LARGEST
            assert other.unknown_words(texts, language) == model.unknown_words(texts, language)
    features = load_features(load_dataset(data_of(name)), model.recipe.image.feature)
    rows = np.arange(len(features))
    gathered = features.gather(rows)
    given = gathered if isinstance(gathered, tuple) else (gathered,)
    found = other.encode_features(*given)
    assert np.abs(found - model.encode_features(features, rows)).max() <= LARGEST
