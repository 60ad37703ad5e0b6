"""fastText's binary models, against its rules character by character."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.fasttext import SubwordVectors, subword_hashes
from polyglance.text.vectors.read import read_vectors
from tests.alignment.planted import write_bin


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
