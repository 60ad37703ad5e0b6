"""Names find their pictures: against ranks written out, and by the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.names import evaluate_names
from tests.conftest import write_toy
from tests.training.runs import run

COUNT = 30


def things(*styles: str) -> Dataset:
    """Thirty things in each style, every third held out; the last two have one German name."""
    images = []
    for style in styles:
        for number in range(COUNT):
            names = {"en": {"name": [f"thing {number}"]}}
            names["de"] = {"name": [f"ding {min(number, COUNT - 2)}"]}
            split = "val" if number % 3 == 2 else "train"
            images.append(CaptionedImage(f"{style}/u{number}.png", split, names))
    return Dataset(images, Path("images"), "things")


class Planted:
    """Names and pictures at planted places; picture number 4 cannot be read."""

    languages = ("en",)

    def __init__(self) -> None:
        generator = np.random.default_rng(0)
        self.images = generator.normal(size=(2 * COUNT, 6)).astype(np.float32)
        self.texts = {
            f"{word} {number}": generator.normal(size=6).astype(np.float32)
            for word in ("thing", "ding")
            for number in range(COUNT)
        }
        self.asked: list[tuple[str | None, int]] = []

    def encode_text(self, texts, language=None, *, show_progress=None):
        self.asked.append((language, len(texts)))
        return np.stack([self.texts[text] for text in texts])

    def encode_dataset(self, dataset, cache=None, show_progress=None):
        found = self.images[: len(dataset)].copy()
        found[4] = np.nan
        return found


def expected(model: Planted, word: str, style: int) -> list[bool]:
    """Whether each name of val finds a picture of its own in a set, written out."""
    hits, every = [], range(style * COUNT, (style + 1) * COUNT)
    names = {i: i % COUNT if word == "thing" else min(i % COUNT, COUNT - 2) for i in every}
    asked = sorted({names[i] for i in every if i % COUNT % 3 == 2})
    for name in asked:
        text = model.texts[f"{word} {name}"]
        score = {
            i: float(model.images[i] @ text / np.linalg.norm(model.images[i]))
            for i in every
            if i != 4
        }
        order = sorted(score, key=lambda i: -score[i])
        hits.append(any(names[i] == name for i in order[:10]))
    return hits


def test_against_ranks_written_out() -> None:
    model = Planted()
    report = evaluate_names(model, things("flat", "round"))
    assert report.pictures == {"flat": COUNT - 1, "round": COUNT}
    for code, word in (("en", "thing"), ("de", "ding")):
        hits = expected(model, word, 0) + expected(model, word, 1)
        assert 0 < np.mean(hits) < 1
        assert report.languages[code].found == pytest.approx(100 * np.mean(hits))
        assert report.languages[code].names == len(hits) == 20
    both = [own.found for own in report.languages.values()]
    assert report.mean == pytest.approx(sum(both) / 2)
    # A language that the model does not know is encoded without one.
    assert sorted(model.asked, key=str) == [("en", 10), (None, 10)]


def test_languages_are_chosen_and_missing_ones_refused() -> None:
    report = evaluate_names(Planted(), things("flat"), languages=["de"])
    assert list(report.languages) == ["de"]
    with pytest.raises(PolyglanceError, match="no captions in language 'fr'"):
        evaluate_names(Planted(), things("flat"), languages=["fr"])
    with pytest.raises(PolyglanceError, match="there is no split 'test'"):
        evaluate_names(Planted(), things("flat"), "test")


def test_the_command(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "toy")
    run(toy, tmp_path / "run", "training.epochs=1")
    out, model = tmp_path / "names.json", str(tmp_path / "run")
    options = ["--names", str(toy), "--json", str(out), "--languages", "de,en"]
    result = CliRunner().invoke(app, ["evaluate", model, *options])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    (report,) = json.loads(out.read_text())
    shown = {line[0]: line[-1] for line in lines}
    for code, own in report["languages"].items():
        assert shown[code] == f"{own['found']:.1f}"
        assert own["names"] > 0
    assert shown["mean"] == f"{report['mean']:.1f}"
    assert report["split"] == "val"
    assert report["pictures"] == {"": 160}
    refused = CliRunner().invoke(app, ["evaluate", model, *options, "--folds", "2"])
    assert isinstance(refused.exception, PolyglanceError)
    assert "--folds has no effect with --names" in str(refused.exception)
