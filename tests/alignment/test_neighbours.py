"""Nearest vectors, against sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.alignment.neighbours import mean_similarity, nearest, score_blocks, top_k


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 900), st.integers(1, 12), st.booleans())
def test_top_k_is_that_of_sorting(seed, width, k, ties):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(3, width)).astype(np.float32)
    scores = np.round(scores) if ties else scores
    k = min(k, width)
    values, columns = top_k(scores, k)
    expected = -np.sort(-scores, axis=1)[:, :k]
    np.testing.assert_array_equal(-np.sort(-values, axis=1), expected)
    np.testing.assert_array_equal(np.take_along_axis(scores, columns, 1), values)
    assert all(len(set(row)) == k for row in columns.tolist())


def test_top_k_of_many_columns_uses_every_one():
    for column in (0, 127, 2559, 2560, 2599):
        scores = np.zeros((1, 2600), np.float32)
        scores[0, column] = 1
        assert top_k(scores, 1)[1].item() == column


@pytest.mark.parametrize("scores_bytes", [1, 4 * 50 * 3, 1 << 20])
def test_blocks_cover_all_rows(scores_bytes):
    queries, pool = np.random.default_rng(0).normal(size=(2, 50, 8)).astype(np.float32)
    parts = [part.copy() for _, part in score_blocks(queries, pool, scores_bytes)]
    assert max(map(len, parts)) == max(1, min(50, scores_bytes // 200))
    np.testing.assert_allclose(np.concatenate(parts), queries @ pool.T, rtol=1e-4, atol=1e-5)
    rows = [part for part, _, _ in nearest(queries, pool, 3, scores_bytes)]
    assert rows[0].start == 0
    assert rows[-1].stop == 50


def test_more_neighbours_than_vectors():
    queries, pool = np.eye(3)[:2], np.eye(3)
    np.testing.assert_allclose(mean_similarity(queries, pool, 10), [1 / 3, 1 / 3])
