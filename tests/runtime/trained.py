"""Small models trained for one epoch, and what they give beside their exports."""

import warnings
from pathlib import Path

import numpy as np

import polyglance
from polyglance.models import Model
from polyglance.recipes.merge import parse_overrides
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.vision.extraction.extract import load_features
from tests.conftest import TOY, write_toy

TEXTS = {
    "en": ["red dog runs", "a dog that sleeps", "a zebra", "blue", "white cat sleeps a runs red"],
    "de": ["rot hund läuft", "hund", "ein zebra schläft", "weiß auto läuft blau katze"],
}
"""Known and unknown words, of several lengths."""


def trained(folder: Path, name: str, form: str = "global", *settings: str) -> tuple[Model, Path]:
    """A model of a recipe as it is read from disk, and its dataset."""
    data = write_toy(folder / "toy", 64, form)
    recipe = polyglance.load_recipe(name, parse_overrides([*TOY, "training.epochs=1", *settings]))
    polyglance.train(
        recipe, polyglance.load_dataset(str(data)), folder / "run", show_progress=False
    )
    return polyglance.load(folder / "run"), data


def exported(folder: Path, model: Model, precision: str = "fp32") -> ExportedModel:
    """A model, exported and read again."""
    export_model(model, folder / "out", precision)  # type: ignore[arg-type]
    return load(folder / "out")


def text_difference(model: Model, other: ExportedModel) -> float:
    """Largest difference of the embeddings of texts, all languages."""
    worst = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyglance.errors.PolyglanceWarning)
        for language in model.languages:
            texts = TEXTS[language]
            found = other.encode_text(texts, language)
            assert found.dtype == np.float32
            worst = max(worst, np.abs(found - model.encode_text(texts, language)).max())
            assert other.unknown_words(texts, language) == model.unknown_words(texts, language)
    return worst


def image_difference(model: Model, other: ExportedModel, data: Path) -> float:
    """Largest difference of the embeddings of images."""
    features = load_features(polyglance.load_dataset(str(data)), "imported/toy")
    rows = np.arange(20)
    gathered = features.gather(rows)
    given = gathered if isinstance(gathered, tuple) else (gathered,)
    found = other.encode_features(*given)
    return float(np.abs(found - model.encode_features(features, rows)).max())
