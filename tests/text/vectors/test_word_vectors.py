import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.fasttext import SubwordVectors, subword_hashes
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.word_vectors import WordVectors, mean_row, normalise_rows, save_vectors
from tests.alignment.planted import write_bin

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
        ("2 2\na 1 2\nb 1\n", r"x.vec, line 3: 1 numbers where 2 are expected"),
        ("2 2\na 1 2\nb 1 2 3\n", "line 3: 3 numbers"),
        ("a 1 2\nb 1 x\n", "line 2: 'x' is not a number"),
        ("a 1 2\nb 1 nan\n", "line 2: 'nan' is no finite"),
        ("a 1 2\nb inf 2\n", "line 2: 'inf' is no finite"),
        ("a 1 2\nb 1 2\na 3 4\n", "line 3: the word 'a' is already on line 1"),
        (b"a 1 2\nb\xe9 1 2\n", r"line 2: the word b'b\\xe9' is not UTF-8"),
        ("a 1 2\n 1 2\n", "line 2: there is no word"),
        ("3 2\na 1 2\n", "promises 3 words, but there are 1"),
        ("1 2\na 1 2\nb 3 4\n", "promises 1 words, but there are 2"),
        ("", "empty"),
        ("0 5\n", "no vectors"),
        ("word\n", "line 1: expected a word and its numbers"),
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
    path = write(tmp_path, "old")
    with pytest.raises(PolyglanceError, match="cannot be written on a line"):
        save_vectors(path, ["a", "b\n"], np.eye(2))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_lengths_and_means():
    matrix = np.array([[3, 4], [0, 0], [0, -2]], np.float32)
    assert normalise_rows(matrix).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0], [0, -1]]
    np.testing.assert_allclose(mean_row(matrix), [1, 2 / 3])
    assert WordVectors(["a", "b", "c"], matrix).first(2).dim == 2


def grams_of(word, shortest, longest):
    """fastText's rule, character by character."""
    text, found = f"<{word}>", []
    for start in range(len(text)):
        for length in range(shortest, longest + 1):
            gram = text[start : start + length]
            if len(gram) == length and gram not in ("<", ">"):
                found.append(gram)
    return found


def fnv(text):
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF) * 16777619 % 2**32
    return value


@given(st.lists(st.text("abcé狗😀", max_size=7), max_size=5), st.integers(1, 4), st.integers(0, 6))
def test_hashes_of_ngrams(words, shortest, longest):
    found = subword_hashes(words, shortest, longest)
    hashes, offsets = found.flat, found.offsets
    for number, word in enumerate(words):
        expected = [fnv(gram) for gram in grams_of(word, shortest, longest)]
        assert hashes[offsets[number] : offsets[number + 1]].tolist() == expected


WORDS = [b"</s>", "été".encode(), b"dog", b"broken\xff"]


def subword_model(tmp_path, buckets=50, shortest=3, longest=5, **changes):
    matrix = np.random.default_rng(0).normal(size=(len(WORDS) + buckets, 6)).astype(np.float32)
    path = write_bin(tmp_path / "m.bin", WORDS, matrix, buckets, shortest, longest, **changes)
    return path, matrix


@pytest.mark.parametrize(("shortest", "longest"), [(3, 5), (1, 2)])
def test_vectors_of_seen_and_unseen_words(tmp_path, shortest, longest):
    path, matrix = subword_model(tmp_path, 50, shortest, longest)
    model = SubwordVectors.open(path)
    words = ["été", "dogs", "", "狗", "</s>", "dog"]
    for word, vector in zip(words, model.vectors(words), strict=True):
        seen = [WORDS.index(word.encode())] if word.encode() in WORDS else []
        grams = [] if word == "</s>" else grams_of(word, shortest, longest)
        rows = seen + [len(WORDS) + fnv(gram) % 50 for gram in grams]
        expected = np.zeros(6, np.float32)
        for row in rows:
            expected = expected + matrix[row]
        np.testing.assert_array_equal(vector, expected * np.float32(1 / max(len(rows), 1)))
    assert model.words == ["</s>", "été", "dog"]


def test_a_model_without_subwords(tmp_path):
    path, matrix = subword_model(tmp_path, 0, 0, 0)
    vectors = SubwordVectors.open(path).vectors(["dog", "unseen"])
    np.testing.assert_array_equal(vectors, [matrix[2], np.zeros(6)])


def test_binary_files_are_read_like_text(tmp_path):
    path, _ = subword_model(tmp_path)
    assert read_vectors(path, limit=2).words == ["</s>", "été"]
    chosen = read_vectors(path, only=["dogs", "dog", "dogs"])
    assert chosen.words == ["dogs", "dog"]
    np.testing.assert_array_equal(chosen.matrix, SubwordVectors.open(path).vectors(chosen.words))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 3}, "a supervised model"),
        ({"quantised": 1}, "a quantised model"),
        ({"pruned": 0}, "a quantised model"),
        ({"magic": 5}, "not a model of fastText"),
        ({"rows": 99}, "damaged"),
    ],
)
def test_models_that_cannot_be_read(tmp_path, changes, message):
    path, _ = subword_model(tmp_path, **changes)
    with pytest.raises(PolyglanceError, match=message):
        SubwordVectors.open(path)


@pytest.mark.parametrize("size", [0, 5, 30, 90, 120, 150, 900])
def test_a_cut_model(tmp_path, size):
    path, _ = subword_model(tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(PolyglanceError, match=r"damaged|empty"):
        read_vectors(path)
