"""Word vectors of several languages, trained without the command."""

from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.skipgram import VectorSettings
from polyglance.text.vectors.train_files import train_files, training_sentences


def test_a_file_of_every_language(tmp_path: Path) -> None:
    pytest.importorskip("floret")
    (tmp_path / "nl.txt").write_text("een hond\neen kat\n")
    (tmp_path / "more.txt").write_text("de hond\n")
    (tmp_path / "de.txt").write_text("ein Hund\n")
    texts = {"nl": [tmp_path / "nl.txt", tmp_path / "more.txt"], "de": [tmp_path / "de.txt"]}
    sentences = training_sentences(texts=texts)
    assert sentences["nl"] == [["een", "hond"], ["een", "kat"], ["de", "hond"]]
    made = list(train_files(sentences, tmp_path / "out", VectorSettings(4, 1), "vec"))
    assert [(one.language, one.path.name) for one in made] == [("nl", "nl.vec"), ("de", "de.vec")]
    found = read_vectors(tmp_path / "out" / "nl.vec")
    assert (found.dim, {"een", "hond", "kat", "de"} <= set(found.words)) == (4, True)


def test_a_language_without_words_is_told_before_any_is_trained(tmp_path: Path) -> None:
    (tmp_path / "nl.txt").write_text("een hond\n")
    (tmp_path / "de.txt").write_text("...\n")
    texts = {code: [tmp_path / f"{code}.txt"] for code in ("nl", "de")}
    with pytest.raises(PolyglanceError, match="'de': there are no words to train vectors on"):
        training_sentences(texts=texts)
    with pytest.raises(PolyglanceError, match="nothing to train on"):
        training_sentences()
