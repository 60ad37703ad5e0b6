"""A sentence encoder is taught a language by pairs of texts."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.runtime import export_model, load
from polyglance.text.embedders import SubwordEmbedder
from polyglance.transfer import teach_language
from tests.text.subword_models import sentence_model

SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
FORMS = {"en": "{}", "nl": "ge{}en", "de": "ver{}ung"}
KNOWN = ["boko", "dalu", "a red dog"]


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


@pytest.fixture(autouse=True)
def known_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The letters' vocabulary has no words."""
    words = dict.fromkeys(KNOWN, -9.0)
    monkeypatch.setattr(SubwordEmbedder, "common_words", lambda *_: words)


def test_an_export_becomes_an_export(exported: Path, lexicon: Path, tmp_path: Path) -> None:
    options = ["--language", "nl", "--lexicon", lexicon, "--lr", "0.05", "--out", tmp_path / "nl"]
    done = CliRunner().invoke(app, list(map(str, ["add-language", exported, *options])))
    assert done.exit_code == 0, done.output + repr(done.exception)
    assert "nl: 240 pairs of texts" in done.output
    assert "unchanged for texts of the 3 words" in done.output
    old, new = load(exported), load(tmp_path / "nl")
    assert new.languages == ["de", "en", "nl"]
    assert new.id != old.id
    assert np.array_equal(new.encode_text(KNOWN), old.encode_text(KNOWN))
    assert not np.allclose(new.encode_text(["geboken"]), old.encode_text(["geboken"]))
    tables = "tables.safetensors"
    same = [name for name, one in old.manifest.files.items() if new.manifest.files[name] == one]
    assert sorted(same) == sorted(name for name in old.manifest.files if name != tables)


def test_a_run_becomes_a_run_in_which_translations_are_closer(
    lexicon: Path, tmp_path: Path
) -> None:
    source = sentence_model("text.embedder.buckets=4000")
    source.network.text.words.weight.data.normal_()
    source.save(tmp_path / "run")
    where = {"lexicon": str(lexicon)}
    found = teach_language(tmp_path / "run", "nl", tmp_path / "nl", where, epochs=20, lr=0.05)
    assert found.after > found.before + 20
    assert found.kept > 0.8
    assert found.least <= found.kept
    old, new = Model.load(tmp_path / "run"), Model.load(tmp_path / "nl")
    states = old.network.state_dict(), new.network.state_dict()
    changed = [name for name, value in states[0].items() if not value.equal(states[1][name])]
    assert changed == ["text.words.weight"]
    assert np.array_equal(new.encode_text(KNOWN), old.encode_text(KNOWN))


def test_captions_and_files_are_pairs(exported: Path, tmp_path: Path) -> None:
    rows = [
        CaptionedImage(
            f"{n}.jpg",
            "train",
            {"en": {"x": [SYLLABLES[n] + " one"]}, "nl": {"x": [SYLLABLES[n] + " een"]}},
        )
        for n in range(40)
    ]
    data = Dataset(rows, Path(), "d")
    assert teach_language(exported, "nl", tmp_path / "nl", data=data, epochs=1).pairs == 40
    lines = [f"de {one} is er\tthe {one} is there" for one in SYLLABLES]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    where = {"dictionary": str(tmp_path / "pairs.tsv")}
    assert teach_language(exported, "nl", tmp_path / "file", where, epochs=1).pairs == 60
    few = Dataset(rows[:5], Path(), "d")
    with pytest.raises(PolyglanceError, match="5 pairs of texts are too few"):
        teach_language(exported, "nl", tmp_path / "few", data=few)
    assert not (tmp_path / "few").exists()
    with pytest.raises(PolyglanceError, match="already exists"):
        teach_language(exported, "nl", tmp_path / "nl", data=data)
    with pytest.raises(PolyglanceError, match="'en' is the pivot language"):
        teach_language(exported, "en", tmp_path / "en", data=data)
