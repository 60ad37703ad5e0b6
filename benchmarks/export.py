"""Differences between exports and their models, by recipe: the largest in any component.

The models are those of tests/v0_1_0: every kind of embedder, encoder and pooling, small.

    python benchmarks/export.py
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.models import Model
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.vision.extraction.extract import load_features
from tests.v0_1_0.test_golden import HERE, MODELS, TEXTS, data_of


def difference(model: Model, other: ExportedModel, name: str) -> tuple[float, float]:
    """Largest difference in any component of the embeddings of texts, and of images."""
    texts = max(
        float(np.abs(other.encode_text(own, code) - model.encode_text(own, code)).max())
        for code, own in TEXTS.items()
        if code in model.languages
    )
    features = load_features(load_dataset(data_of(name)), model.recipe.image.feature)
    rows = np.arange(len(features))
    gathered = features.gather(rows)
    found = other.encode_features(*(gathered if isinstance(gathered, tuple) else (gathered,)))
    return texts, float(np.abs(found - model.encode_features(features, rows)).max())


def row(name: str) -> str:
    """A row of the table."""
    model = Model.load(HERE / "models" / name)
    cells = [f"`{model.recipe.name}`", ", ".join(model.languages)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            export_model(model, Path(folder, "out"))
        except PolyglanceError:
            return f"| {' | '.join(cells)} | refused | refused |"
        other = load(Path(folder, "out"))
        cells += [f"{value:.0e}" for value in difference(model, other, name)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore", PolyglanceWarning)
    print("| recipe | languages | texts | images |\n| --- | --- | ---: | ---: |")
    for name in MODELS:
        print(row(name))


if __name__ == "__main__":
    main()
