"""Models of hashed subwords, exported: no vocabulary is left behind, and no word is unknown."""

from pathlib import Path

import polyglance
from polyglance.recipes.merge import parse_overrides
from tests.conftest import TOY
from tests.runtime.trained import exported, text_difference


def test_an_export_reads_as_its_model(toy: Path, tmp_path: Path) -> None:
    changes = [one for one in TOY if "min_count" not in one]
    changes += ["text.embedder.kind=subwords", "text.embedder.buckets=300", "training.epochs=1"]
    recipe = polyglance.load_recipe("nce", parse_overrides(changes))
    dataset = polyglance.load_dataset(str(toy))
    polyglance.train(recipe, dataset, tmp_path / "run", show_progress=False)
    model = polyglance.load(tmp_path / "run")
    other = exported(tmp_path, model)
    assert text_difference(model, other) <= 1e-5
    assert other.unknown_words(["ζξ zebra"]) == [()]
