"""A model of subwords is taught a language by pairs of texts."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.runtime import export_model
from polyglance.transfer import teach_language
from polyglance.transfer.source import load_source
from tests.text.subword_models import sentence_model

SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    model = sentence_model("text.embedder.buckets=4000")
    model.network.text.words.weight.data.normal_()
    export_model(model, folder)
    return folder


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English words, Dutch ones that contain them, and German ones."""
    lines = []
    for number in range(240):
        word = SYLLABLES[number % 60] + SYLLABLES[7 * number % 59]
        lines += [f"{number:08}-n\t{code}\t{form.format(word)}" for code, form in FORMS.items()]
    path = tmp_path_factory.mktemp("lexicon") / "lexicon.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


FORMS = {"en": "{}", "nl": "ge{}en", "de": "ver{}ung"}


def test_the_command(exported: Path, lexicon: Path, tmp_path: Path) -> None:
    options = ["--language", "nl", "--lexicon", lexicon, "--lr", "0.05", "--out", tmp_path / "nl"]
    done = CliRunner().invoke(app, list(map(str, ["add-language", exported, *options])))
    assert done.exit_code == 0, done.output + repr(done.exception)
    assert "nl: " in done.output
    old, new = load_source(exported), Model.load(tmp_path / "nl")
    assert new.languages == ["de", "en", "nl"]
    states = old.network.state_dict(), new.network.state_dict()
    changed = [name for name, value in states[0].items() if not value.equal(states[1][name])]
    assert changed == ["text.words.weight"]


def test_translations_come_closer_and_other_languages_stay(
    exported: Path, lexicon: Path, tmp_path: Path
) -> None:
    found = teach_language(exported, "nl", tmp_path / "nl", lexicon, lr=0.05)
    assert found.after > found.before + 10
    assert found.kept > 0.9
    texts = ["geboken", "boko"]
    again = Model.load(tmp_path / "nl").encode_text(texts)
    np.testing.assert_allclose(again, found.model.encode_text(texts), atol=1e-6)


def test_captions_are_pairs(exported: Path, tmp_path: Path) -> None:
    rows = [
        CaptionedImage(
            f"{n}.jpg",
            "train",
            {"en": {"x": [SYLLABLES[n] + " one"]}, "nl": {"x": [SYLLABLES[n] + " een"]}},
        )
        for n in range(40)
    ]
    data = Dataset(rows, Path(), "d")
    assert teach_language(exported, "nl", tmp_path / "nl", data=data, epochs=1).pairs == 36
    few = Dataset(rows[:5], Path(), "d")
    with pytest.raises(PolyglanceError, match="5 pairs of texts are too few"):
        teach_language(exported, "nl", tmp_path / "few", data=few)
    assert not (tmp_path / "few").exists()
    with pytest.raises(PolyglanceError, match="already exists"):
        teach_language(exported, "nl", tmp_path / "nl", data=data)
