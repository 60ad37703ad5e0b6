"""Word vectors from shared documents, against a dense SVD."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.vectors.shared import shared_vectors


def dense(words: np.ndarray, documents: np.ndarray, sizes: np.ndarray, dim: int) -> np.ndarray:
    """Cosines of the words [w, w], from the whole matrix."""
    counts = np.zeros((len(sizes), documents.max() + 1))
    np.add.at(counts, (words, documents), 1)
    spread = (counts > 0).sum(1)
    values = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    values *= np.log((1 + sizes) / np.maximum(spread, 1))[:, None]
    left, strength, _ = np.linalg.svd(values, full_matrices=False)
    found = left[:, :dim] * np.sqrt(strength[:dim])
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return found @ found.T


@given(st.integers(0, 500))
def test_equals_a_dense_svd(seed: int) -> None:
    generator = np.random.default_rng(seed)
    words, documents = generator.integers(9, size=80), generator.integers(12, size=80)
    words[:9] = np.arange(9)
    sizes = np.full(9, 12)
    found = shared_vectors(words, documents, sizes, 9)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found @ found.T, dense(words, documents, sizes, 9), atol=5e-3)
    assert np.array_equal(found, shared_vectors(words, documents, sizes, 9))


def test_translations_are_nearest_though_one_language_has_fewer_documents() -> None:
    generator = np.random.default_rng(0)
    words, documents = [], []
    for document in range(300):
        for thing in generator.choice(40, 4, replace=False):
            words.append(thing)
            documents.append(document)
            if document < 150:
                words.append(40 + thing)
                documents.append(document)
    sizes = np.repeat([300, 150], 40)
    found = shared_vectors(np.array(words), np.array(documents), sizes, 40)
    nearest = (found[40:] @ found[:40].T).argmax(1)
    assert np.mean(nearest == np.arange(40)) > 0.95


def test_more_dimensions_than_words_are_zero_and_words_without_documents_too() -> None:
    found = shared_vectors(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 2, 2]), 6)
    assert found.shape == (3, 6)
    assert not found[:, 3:].any()
    assert not found[2].any()
    np.testing.assert_allclose(np.linalg.norm(found[:2], axis=1), 1, atol=1e-5)
