"""Words with vectors: looked up, written, found in folders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.read import read_vectors, vector_file
from polyglance.text.vectors.word_vectors import WordVectors, mean_row, normalise_rows, save_vectors


def test_no_such_file(tmp_path):
    for name in ("x.vec", "x.bin"):
        with pytest.raises(PolyglanceError, match="no such file"):
            read_vectors(tmp_path / name)


@given(
    arrays(np.float32, (3, 2), elements=st.floats(-(2.0**99), 2.0**99, width=32)),
    st.lists(st.text("abcé狗😀", min_size=1), min_size=3, max_size=3, unique=True),
    st.sampled_from([".vec", ".vec.gz"]),
)
def test_written_vectors_come_back(tmp_path_factory, matrix, words, suffix):
    path = tmp_path_factory.mktemp("v") / f"x{suffix}"
    save_vectors(path, words, matrix, digits=9)
    vectors = read_vectors(path)
    assert vectors.words == words
    np.testing.assert_array_equal(vectors.matrix, matrix)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("old")
    with pytest.raises(PolyglanceError, match="cannot be written on a line"):
        save_vectors(path, ["a", "b\n"], np.eye(2))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_lengths_and_means():
    matrix = np.array([[3, 4], [0, 0], [0, -2]], np.float32)
    assert normalise_rows(matrix).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0], [0, -1]]
    np.testing.assert_allclose(mean_row(matrix), [1, 2 / 3])
    assert WordVectors(["a", "b", "c"], matrix).first(2).dim == 2


def test_rows_of_words():
    vectors = WordVectors(["a", "b"], np.eye(2, dtype=np.float32))
    assert vectors.rows(["b", "x", "a"]).tolist() == [1, -1, 0]
    assert ("b" in vectors, "x" in vectors, len(vectors)) == (True, False, 2)


def test_the_file_of_a_language(tmp_path):
    (tmp_path / "de.vec.gz").touch()
    (tmp_path / "de.vec").touch()
    assert vector_file(tmp_path, "de", "f") == tmp_path / "de.vec"
    (tmp_path / "de.bin").touch()
    assert vector_file(tmp_path, "de", "f") == tmp_path / "de.bin"
    assert vector_file(tmp_path / "de.vec", "en", "f") == tmp_path / "de.vec"
    with pytest.raises(PolyglanceError, match=r"has neither fr\.bin nor fr\.vec; .* omit f"):
        vector_file(tmp_path, "fr", "f")
    with pytest.raises(PolyglanceError, match=r"no such folder; set f to one with fr\.bin"):
        vector_file(tmp_path / "nowhere", "fr", "f")
