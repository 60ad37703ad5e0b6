import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.cooccurrence import SMOOTHING, cooccurrence_vectors
from polyglance.text.vectors.word_vectors import normalise_rows

SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), max_size=4), min_size=1, max_size=12)


def ppmi(sentences, words):
    """Counted pair by pair."""
    counts = np.zeros((len(words), len(words)))
    for sentence in sentences:
        for one in set(sentence):
            for other in set(sentence) - {one}:
                if one in words and other in words:
                    counts[words.index(one), words.index(other)] += 1
    total = counts.sum(1)
    context = total**SMOOTHING
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(counts / np.outer(total, context / context.sum()))
    return np.where(np.isfinite(values), values, 0).clip(min=0)


@settings(max_examples=40)
@given(SENTENCES)
def test_vectors_are_the_singular_vectors_of_ppmi(sentences):
    try:
        found = cooccurrence_vectors(sentences, dim=7, least=1)
    except PolyglanceError:
        return
    matrix = ppmi(sentences, found.words)
    left, strength, _ = np.linalg.svd(matrix)
    wanted = left * np.sqrt(strength)
    # Signs, and bases of equal singular values, are free; inner products are not.
    np.testing.assert_allclose(
        found.matrix @ found.matrix.T, wanted @ wanted.T, atol=2e-3 * max(1, strength[0])
    )
    assert found.matrix.shape == (len(found.words), 7)


def test_words_of_one_topic_are_close_and_the_same_every_time():
    generator = np.random.default_rng(0)
    topics = [[f"{letter}{i}" for i in range(6)] for letter in "xyz"]
    sentences = [list(generator.choice(topics[n % 3], 3, replace=False)) for n in range(300)]
    found = cooccurrence_vectors(sentences, dim=3, least=1)
    again = cooccurrence_vectors(sentences, dim=3, least=1)
    np.testing.assert_array_equal(found.matrix, again.matrix)
    rows = normalise_rows(found.matrix)
    same = [a[0] == b[0] for a in found.words for b in found.words]
    close = (rows @ rows.T).ravel() > 0.7
    assert close.tolist() == same


def test_frequent_words_come_first_and_rare_ones_are_left_out():
    sentences = [["a", "b"], ["a", "b"], ["a", "c"], ["d", "a"]]
    assert cooccurrence_vectors(sentences, dim=2, least=2).words == ["a", "b"]
    assert cooccurrence_vectors(sentences, dim=2, least=1, most=3).words == ["a", "b", "c"]
    with pytest.raises(PolyglanceError, match="no word occurs 9 times"):
        cooccurrence_vectors(sentences, least=9)
