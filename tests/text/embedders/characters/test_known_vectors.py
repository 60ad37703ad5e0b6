"""Pretrained vectors of the words of training captions."""

import json
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.embedders.characters.known_vectors import load_words, save_words, vectors_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.vec"
    path.write_text("dog 1 2\nhund 3 4\nnever 5 6\n")
    return path


def test_only_words_of_the_captions_are_read(file: Path) -> None:
    found = vectors_of(str(file), {"dog", "hund", "cat"})
    assert found.words == ["dog", "hund"]
    assert found.matrix.tolist() == [[1, 2], [3, 4]]


def test_saved_words_have_zeros_that_weights_replace(file: Path, tmp_path: Path) -> None:
    save_words(vectors_of(str(file), {"hund"}), tmp_path)
    found = load_words(tmp_path)
    assert found is not None
    assert found.words == ["hund"]
    np.testing.assert_array_equal(found.matrix, np.zeros((1, 2), np.float32))
    assert load_words(tmp_path / "elsewhere") is None


def test_invalid_input_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"none\.vec: no such file; set pretrained word"):
        vectors_of(str(tmp_path / "none.vec"), {"dog"})
    with pytest.raises(PolyglanceError, match="has a vector for none of the 2 words"):
        vectors_of(str(file), {"chat", "chien"})
    for value in ([], {"words": ["a"]}, {"words": "a", "size": 2}, {"words": [], "size": 0}):
        (tmp_path / "vectors.json").write_text(json.dumps(value))
        with pytest.raises(PolyglanceError, match=r"vectors\.json: needs the fields"):
            load_words(tmp_path)
