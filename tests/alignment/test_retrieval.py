"""Ranks of translations by cosine and by CSLS, against sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.alignment import precision, translation_ranks
from polyglance.alignment.neighbours import mean_similarity
from polyglance.alignment.retrieval import group_gold
from polyglance.errors import PolyglanceError
from polyglance.text.vectors.word_vectors import normalise_rows


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 5))
def test_ranks_by_both_criteria(seed, count, k):
    generator = np.random.default_rng(seed)
    sources, targets = (normalise_rows(generator.normal(size=(count, 5))) for _ in range(2))
    gold = [generator.choice(count, generator.integers(1, 3), replace=False) for _ in range(4)]
    queries = normalise_rows(generator.normal(size=(4, 5)))
    cosines = queries @ targets.T
    k = min(k, count)
    r_t = -np.sort(-cosines, axis=1)[:, :k].mean(axis=1)
    r_s = -np.sort(-(targets @ sources.T), axis=1)[:, :k].mean(axis=1)
    csls = 2 * cosines - r_t[:, None] - r_s
    hubness = mean_similarity(targets, sources, k)
    for found, scores in (
        (translation_ranks(queries, targets, gold), cosines),
        (translation_ranks(queries, targets, gold, hubness), csls),
    ):
        orders = np.argsort(-scores, axis=1)
        expected = [
            min(order.tolist().index(g) for g in right)
            for order, right in zip(orders, gold, strict=True)
        ]
        assert found.tolist() == expected


def test_equal_scores_do_not_help():
    same = np.tile([[1.0, 0.0]], (4, 1))
    assert translation_ranks(same[:1], same, [np.array([0])]).tolist() == [3]
    assert translation_ranks(same[:1], same, [np.array([0, 2])]).tolist() == [2]


def test_csls_corrects_for_a_hub():
    # Target 0 is near every source word; target 1 is right, and near this one alone.
    sources = normalise_rows(np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.8, -0.6, 0.0]]))
    targets = normalise_rows(np.array([[1.0, 0.0, 0.0], [0.7, 0.7, 0.0]]))
    query, gold = normalise_rows(np.array([[0.94, 0.35, 0.0]])), [np.array([1])]
    assert translation_ranks(query, targets, gold).tolist() == [1]
    hubness = mean_similarity(targets, sources, 3)
    assert translation_ranks(query, targets, gold, hubness).tolist() == [0]


def test_gold_is_grouped_by_source_word():
    words, gold = group_gold(np.array([4, 2, 4, 4]), np.array([1, 0, 3, 1]))
    assert words.tolist() == [2, 4]
    assert [part.tolist() for part in gold] == [[0], [1, 3]]


def test_nothing_to_evaluate():
    with pytest.raises(PolyglanceError, match="no held-out pairs"):
        precision(np.array([]))
