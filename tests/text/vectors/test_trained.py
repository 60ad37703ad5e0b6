"""Vectors of a language's words: a user's, or trained once and kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.vectors.trained import (
    Corpus,
    language_vectors,
    load_array,
    needs_lexicon,
    reduce_vectors,
)
from tests.conftest import write_toy

CAPTIONS = [["rot", "hund"], ["blau", "hund"], ["rot", "baum"]] * 20


@pytest.fixture
def corpus(tmp_path):
    dataset = load_dataset(write_toy(tmp_path / "toy", 8))
    recipe = load_recipe("mule", parse_overrides(["text.embedder.vector_dim=6"]))
    return Corpus(recipe, dataset, ["de", "en"])


def test_trained_once_and_the_same_for_fewer_words(corpus, tmp_path):
    pytest.importorskip("floret")
    found = language_vectors("de", ["hund", "rot", "blau", "baum"], CAPTIONS, corpus, tmp_path)
    assert found.words == ["hund", "rot", "blau", "baum"]
    assert found.matrix.shape == (4, 6)
    (file,) = (tmp_path / "vectors").iterdir()
    written = file.stat().st_mtime_ns
    few = language_vectors("de", ["rot"], CAPTIONS, corpus, tmp_path)
    np.testing.assert_array_equal(few.matrix, found.matrix[1:2])
    assert file.stat().st_mtime_ns == written
    file.write_bytes(b"damaged")
    again = language_vectors("de", ["rot"], CAPTIONS, corpus, tmp_path)
    np.testing.assert_array_equal(again.matrix, few.matrix)
    language_vectors("en", ["rot"], CAPTIONS, corpus, tmp_path)
    assert len(list((tmp_path / "vectors").iterdir())) == 2


def test_a_users_files(corpus, tmp_path):
    (tmp_path / "de.vec").write_text("hund 1 2\nrot 3 4\nnie 5 6\n")
    recipe = load_recipe("mule", {"text.embedder.vectors": str(tmp_path)})
    mine = Corpus(recipe, corpus.dataset, ["de"])
    found = language_vectors("de", ["rot", "baum", "hund"], CAPTIONS, mine, None)
    assert (found.words, found.matrix.tolist()) == (["rot", "hund"], [[3, 4], [1, 2]])
    with pytest.raises(PolyglanceError, match="has a vector for none of the 1 words"):
        language_vectors("de", ["baum"], CAPTIONS, mine, None)


def test_missing_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    assert np.array_equal(load_array(tmp_path / "a.npy"), np.eye(2))
    (tmp_path / "b.npy").write_bytes(b"no")
    assert load_array(tmp_path / "b.npy") is None
    assert load_array(tmp_path / "c.npy") is None


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_reduced_vectors_keep_most_of_the_variance(words, width, dim, seed):
    matrix = np.random.default_rng(seed).normal(size=(words, width)).astype(np.float32)
    found = reduce_vectors(matrix, dim)
    assert found.shape == (words, min(width, dim))
    if width <= dim:
        assert found is matrix
        return
    centred = matrix - matrix.mean(0)
    kept = np.linalg.svd(centred, compute_uv=False)[:dim]
    assert (found**2).sum() == pytest.approx((kept**2).sum(), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "changes", "setting"),
    [
        ("vsepp", {}, None),
        ("mule", {}, None),
        ("dictionary", {}, "text.embedder.rare.kind=dictionary"),
        ("mule", {"text.embedder.corpus": "lexicon"}, "text.embedder.corpus=lexicon"),
        ("mule", {"text.embedder.corpus": "lexicon", "text.embedder.vectors": "x"}, None),
    ],
)
def test_what_needs_a_lexicon(name, changes, setting):
    assert needs_lexicon(load_recipe(name, changes, shared=True)) == setting
