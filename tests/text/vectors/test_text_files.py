"""Vectors in the text formats of fastText, word2vec and GloVe, also damaged ones."""

import gzip

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.read import read_vectors

VEC = "3 2\nthe 1 2\ndog 0.5 -3e-1 \ncat 4 5\n"


def write(tmp_path, text, name="x.vec"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("text", [VEC, VEC.split("\n", 1)[1], "\ufeff" + VEC, VEC + "\n"])
def test_with_a_header_or_without(tmp_path, text):
    vectors = read_vectors(write(tmp_path, text))
    assert vectors.words == ["the", "dog", "cat"]
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(
        vectors.matrix, np.array([[1, 2], [0.5, -0.3], [4, 5]], np.float32)
    )


def test_first_words_and_chosen_words(tmp_path):
    path = write(tmp_path, VEC)
    assert read_vectors(path, limit=2).words == ["the", "dog"]
    assert read_vectors(path, only={"cat", "cow"}).words == ["cat"]
    assert read_vectors(path, limit=2, only=["cat"]).matrix.shape == (0, 2)
    with pytest.raises(PolyglanceError, match="at least 1"):
        read_vectors(path, limit=0)


def test_gzip(tmp_path):
    assert len(read_vectors(write(tmp_path, gzip.compress(VEC.encode()), "x.vec.gz"))) == 3
    damaged = write(tmp_path, gzip.compress(VEC.encode())[:-12], "y.vec.gz")
    with pytest.raises(PolyglanceError, match="damaged"):
        read_vectors(damaged)


def test_words_with_spaces_of_every_kind(tmp_path):
    # GloVe 840B has ". . ."; fastText has no-break spaces and line separators inside words.
    text = "a 1 2\n. . . 3 4\nat me@x.org 5 6\nx\u00a0y 7 8\nz\u2028 9 10\n"
    vectors = read_vectors(write(tmp_path, text))
    assert vectors.words == ["a", ". . .", "at me@x.org", "x\u00a0y", "z\u2028"]
    assert vectors.matrix[1].tolist() == [3, 4]
    assert read_vectors(write(tmp_path, text), only=["at me@x.org", "at"]).words == ["at me@x.org"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 2\na 1 2\nb 1\n", r"x.vec, line 3: expected 2 numbers, found 1"),
        ("2 2\na 1 2\nb 1 2 3\n", "line 3: expected 2 numbers, found 3"),
        ("a 1 2\nb 1 x\n", "line 2: 'x' is not a number"),
        ("a 1 2\nb 1 nan\n", "line 2: 'nan' is not a finite"),
        ("a 1 2\nb inf 2\n", "line 2: 'inf' is not a finite"),
        ("a 1 2\nb 1 2\na 3 4\n", "line 3: the word 'a' is already on line 1"),
        (b"a 1 2\nb\xe9 1 2\n", r"line 2: the word b'b\\xe9' is not UTF-8"),
        ("a 1 2\n 1 2\n", "line 2: no word"),
        ("3 2\na 1 2\n", "states 3 words, but there are 1"),
        ("1 2\na 1 2\nb 3 4\n", "states 1 words, but there are 2"),
        ("", "empty"),
        ("0 5\n", "no vectors"),
        ("word\n", "line 1: expected a word and its vector"),
    ],
)
def test_damaged_files(tmp_path, text, message):
    with pytest.raises(PolyglanceError, match=message):
        read_vectors(write(tmp_path, text))


def test_lenient(tmp_path):
    text = b"a 1 2\nb\xe9 1 2\na 3 4\nc 5 6\n"
    vectors = read_vectors(write(tmp_path, text), lenient=True)
    assert (vectors.words, vectors.skipped) == (["a", "c"], 2)
    assert vectors.matrix.tolist() == [[1, 2], [5, 6]]


def test_large_numbers_are_finite(tmp_path):
    assert read_vectors(write(tmp_path, "a 1e30 1\n")).matrix[0, 0] == np.float32(1e30)
